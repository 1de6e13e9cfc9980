/* SPDX-License-Identifier: MIT */
/*
 * --trace for Python's functions: each call of one that a pattern asks for is an op, below the
 * function that has called it.
 *
 * A pattern's name is held against the qualified name and against what stands behind its last dot;
 * up to CPython 3.10 code objects have no other name than that. What a pattern gives as a library
 * is held against the source file, if it looks like one: "train.py:Net.forward".
 */
#pragma once

#include <stdbool.h>

struct agent;

/* Under the GIL, in the main thread, before python_events_start(). False: nothing is asked for, or
   none of it can be traced. */
bool python_trace_start(struct agent *a);

/* The same, before the interpreter ends: what has been missed is told. */
void python_trace_check(void);
