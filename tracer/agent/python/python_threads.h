/* SPDX-License-Identifier: MIT */
/*
 * Which of the interpreter's thread states is the calling thread's.
 *
 * A thread may have several, one for each (sub)interpreter that it has run, and
 * with several interpreters one may be run by another thread than it was made
 * in. Up to 3.11 the one whose call of the interpreter stands lowest on the
 * thread's stack is the one that it runs. For handlers.
 */
#pragma once

#include "tracer/agent/python/python_guard.h"
#include "tracer/agent/python/python_runtime.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * The calling thread is TID. 0: it runs no Python, or the interpreter is ending. *HOLDS_GIL: it
 * holds one.
 */
uintptr_t python_threads_own(const struct python_runtime *r, struct guard *g, uint32_t tid,
                             bool *holds_gil);

/* What PyGILState_GetThisThreadState() returns in the calling thread, which is TID. */
uintptr_t python_threads_bound(const struct python_runtime *r, struct guard *g, uint32_t tid);

/* Whether the interpreter is ending in another thread than that of state THREAD: it then frees the
   states of threads that still run. */
bool python_threads_ending(const struct python_runtime *r, uintptr_t thread);

enum python_init {
	PYTHON_NOT_YET,
	PYTHON_READY,
	PYTHON_WRONG /* it looks otherwise than its version does */
};

/* Whether the first interpreter is there, and has a thread that says it is its own. */
enum python_init python_threads_check(const struct python_runtime *r, struct guard *g);
