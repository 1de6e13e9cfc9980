/* SPDX-License-Identifier: MIT */
/*
 * Begins and ends of calls of Python's functions, as the interpreter reports them: also each time
 * that a generator goes on, and stops.
 *
 * By sys.monitoring from CPython 3.12 on, which is asked no more about functions that nobody wants;
 * by the profile function of each thread before, which is called for all. All of it is under the
 * GIL where there is one, in any thread; a listener may be called by several at once where not.
 */
#pragma once

#include "tracer/agent/op/op.h"
#include "tracer/agent/python/python_api.h"

#include <stdbool.h>

struct python_listener {
	/* A call of CODE begins, or ends. False: CODE need not be reported to this one again. */
	bool (*begins)(py_object code, struct op_here here);
	bool (*ends)(py_object code); /* NULL: ends are of no interest */
	/* The same of C functions that code calls: a PyCFunction or, from 3.12 on, a method
	   descriptor. NULL: these are of no interest. */
	void (*calls)(py_object function);
	void (*returns)(py_object function);
};

#define PYTHON_LISTENERS_MAX 2

/* In the main thread. LISTENER is borrowed for good; before python_events_start(). */
void python_events_add(const struct python_listener *listener);

/* The same. False: the interpreter does not let us. True, too, if nobody listens. */
bool python_events_start(void);

/* Each listener calls it with each code object that is new to it. */
void python_events_meet(py_object code);

/* Has the program put something in our place, so that calls are missing? In the main thread. */
bool python_events_lost(void);

/* The definition of a C function, as listeners get it. */
const struct python_method *python_events_method(py_object function);

/* A text of CODE, by its offset there; valid as long as CODE is. */
const char *python_events_text(py_object code, int32_t offset);
