/* SPDX-License-Identifier: MIT */
/*
 * How often each Python function and each C function that Python calls is called, in all, by whom
 * and how often recursively: exactly, and as cProfile counts, also each time that a generator goes
 * on.
 */
#pragma once

#include <stdbool.h>

struct agent;

/* Under the GIL, in the main thread, before python_events_start(). False: they cannot be counted.
 */
bool python_calls_start(struct agent *a);

/* The same: has the program put something in our place, so that calls are missing? */
void python_calls_check(void);

/* Tells what has come since the last time. LAST: waits a little where there is no room. */
void python_calls_tell(struct agent *a, bool last);

/* In a forked child: what its parent has counted is its parent's. */
void python_calls_fork(void);
