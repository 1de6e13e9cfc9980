/* SPDX-License-Identifier: MIT */
/*
 * A process that has a Python interpreter samples itself, whoever else samples it: only in the
 * handler of the interrupted thread are Python's frames exact.
 *
 *	look() ── an interpreter ──► traps ── the program got at them ──► timers
 *	                               ├── refused ──────────────────────────┤
 *	                               └── it waits for SIGTRAP itself ──────┘
 *
 * RECORD_PYTHON tells from when on, by PYTHON_SAMPLES; without it, that this is over.
 *
 * There is one such state in a process, kept in the agent that python_ticks_start() was given,
 *which lives as long. Any thread may look; of two at once, one does.
 */
#pragma once

#include "tracer/agent/sample/signals.h"

#include <stdbool.h>

struct agent;

/* The program has begun. START installs our handler of a kind of ticks, once. */
void python_ticks_start(struct agent *a, bool (*start)(enum signals_kind kind));

/* Looks whether there is an interpreter by now, and whether its ticks still come. Not for
   handlers. Keeps errno. */
void python_ticks_look(void);

/* In a forked child, after threads_fork(). */
void python_ticks_fork(void);

/*
 * Before this process may become another program, whom our signals would end, and when it has not.
 * Pause: whether resume has something to do. For handlers and for children of vfork().
 */
bool python_ticks_pause(void);
void python_ticks_resume(void);

/* The process ends, or is not to be sampled from within any more. */
void python_ticks_stop(void);
