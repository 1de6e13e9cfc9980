/* SPDX-License-Identifier: MIT */
/*
 * What asyncio's tasks do with their time: how long they wait, in which await, how long they are
 * ready before their step begins, and which steps keep the others from theirs.
 *
 *	_call_soon(): ready     Handle._run(): its step     returns: it waits
 *
 * Methods of asyncio's own are replaced by C functions that call them, as soon as the program has
 * imported it: Handle._run, which runs every step of every task and every callback, and
 * BaseEventLoop._call_soon, which schedules them. _process_events, which takes what a look at the
 * descriptors has found, tells after a long step what may have been ready before. Nothing of the
 * program's is touched, and no frame of Python's is added, so tracebacks are what they were. This
 * was chosen over:
 *
 *	reading the tasks from outside    sees a moment, not who was ready since when: sums would be
 *	                                  estimates, and short steps invisible
 *	sys.monitoring, sys.setprofile    are called for each function, and are not there in all
 *	                                  versions; a task's step would pay for all that it calls
 *	asyncio's debug mode              changes what the program does, and prints
 *
 * The awaits in which a task stands are only read at the end of a wait, when its frames still stand
 * there. Where this takes more than 0.5 % of the time, a chain is read for so many ms of waiting,
 *in which the waits of its coroutine add up: sums are right, and the parts of chains estimates.
 *
 * All of it is under the GIL, in any thread; without a GIL it is off. Sums are kept here and told
 * once a second. Event loops that are not written in Python (uvloop) are await_foreign.h's; what is
 * not asyncio (trio, gevent) is not seen, which a note says.
 */
#pragma once

#include "tracer/agent/python/python_api.h"

#include <stdbool.h>
#include <stdint.h>

struct agent;

/* The interpreter is set up. Borrows A for good. */
void python_await_start(struct agent *a);

/* Whether asyncio is yet to be found, and nobody is about to look: then the caller is. */
bool python_await_may_ask(void);
void python_await_unask(void); /* it was not */

/* Looks whether the program has imported it. Under the GIL, where Python may run; 0. */
int python_await_look(void *unused);

/* The interpreter ends: what still waits has waited until now. Under the GIL. */
void python_await_end(void);

/* What has come since the last time. LAST: waits for room. Runs nothing of Python's. */
void python_await_tell(bool last);

/* For await_foreign.h. A loop is asked for CALLBACK: true if that is a step of a task, whose run it
   has to report. */
bool python_await_scheduled(py_object callback);

/* Calls CALLBACK, a task's step or what was due at DUE_NS (0: unknown), and reports it. */
py_object python_await_run(py_object callback, uint64_t due_ns, py_object const *arguments,
                           intptr_t count, py_object names);

/* In a forked child: what was summed was its parent's. */
void python_await_fork(void);
