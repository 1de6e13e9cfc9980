/* SPDX-License-Identifier: MIT */
/*
 * --trace: functions of the program's own become ops, by patching them in memory.
 *
 * All objects that are there when the program begins are looked through, and each that comes later
 * as soon as the loader has it in memory, before any of its code runs.
 */
#pragma once

struct agent;

/* The program has begun. Nothing is done unless it is asked for. */
void trace_start(struct agent *a);

/* The program is about to have another thread. Not for handlers. Keeps errno. */
void trace_look(void);

/* This process has been forked. */
void trace_fork(void);
