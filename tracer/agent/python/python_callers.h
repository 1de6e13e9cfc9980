/* SPDX-License-Identifier: MIT */
/*
 * Who calls a hook: the Python frames of its thread, all of them, as one number.
 *
 * A hook is called by what Python has called. So its thread's frames are whole and stay as they
 * are, unlike in a handler (python.h): they are read as they lie. Each chain of frames that is new
 * is walked once more with a guard, and told (RECORD_PYTHON_CHAIN) before its number is used. Calls
 * of different torch.nn.Modules are different, though the code is one.
 */
#pragma once

#include <stdint.h>

struct agent;
struct op_details;
struct op_thread;

#define PYTHON_CALLERS_MAX 128 /* frames of a chain; outer ones are cut */

/* The program has begun. */
void python_callers_start(struct agent *a);

/* All are to be reported again. */
void python_callers_fork(void);

/*
 * The newest frame of T, the calling thread, as long as that is open: the same frame is called by
 * the same ones. 0: it is in no Python, or in one that is not to be read. Between op_enter() and
 * op_leave().
 */
uintptr_t python_callers_newest(struct op_thread *t);

/* The number of the chain that NEWEST is the first of. 0: there is no room, or no more numbers. */
uint32_t python_callers_number(struct op_thread *t, uintptr_t newest);

/*
 * Says of an op of T, the calling thread, who calls it, if that is Python: puts that before the
 * COUNT values of D, which has room for one more, and changes D's kind. Between op_enter() and
 * op_leave(), and not from a handler of a signal.
 */
void python_callers_tell(struct op_thread *t, struct op_details *d, uint64_t *values);

/* The same for a Python function that has just been called: who has called that. */
void python_callers_tell_outer(struct op_thread *t, struct op_details *d, uint64_t *values);

/* The torch.nn.Modules that the calling thread runs, innermost first, at most MAX; how many. Under
   the GIL. */
uint32_t python_callers_modules(uintptr_t *modules, uint32_t max);
