/* SPDX-License-Identifier: MIT */
/*
 * What tasks of event loops do with their time: how long they wait, in which await, how long they
 * are ready before their step begins, and which steps keep the others from theirs.
 *
 * Methods of the library's own are replaced by C functions that call them, as soon as the program
 * has imported it (await_asyncio.h, await_foreign.h, await_trio.h, await_gevent.h). Nothing of the
 *program's is touched, and no frame of Python's is added, so tracebacks are what they were. This
 *was chosen over:
 *
 *	reading the tasks from outside    sees a moment, not who was ready since when: sums would be
 *	                                  estimates, and short steps invisible
 *	sys.monitoring, sys.setprofile    are called for each function, and are not there in all
 *	                                  versions; a task's step would pay for all that it calls
 *	asyncio's debug mode,             change what the program does, and print; or are seen by it
 *	trio's instruments
 *
 * All of it is under the GIL, in any thread; without a GIL it is off. Sums are kept here and told
 * once a second. What is imported and not seen, a note says.
 */
#pragma once

#include <stdbool.h>

struct agent;

/* The interpreter is set up. Borrows A for good. */
void python_await_start(struct agent *a);

/* Whether a library is yet to be found, and nobody is about to look: then the caller is. */
bool python_await_may_ask(void);
void python_await_unask(void); /* it was not */

/* Looks what the program has imported. Under the GIL, where Python may run; 0. */
int python_await_look(void *unused);

/* The interpreter ends: what still waits has waited until now. Under the GIL. */
void python_await_end(void);

/* What has come since the last time. LAST: waits for room. Runs nothing of Python's. */
void python_await_tell(bool last);

/* In a forked child: what was summed was its parent's. */
void python_await_fork(void);
