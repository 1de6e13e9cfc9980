/* SPDX-License-Identifier: MIT */
/*
 * gevent's greenlets, as tasks whose steps are await_steps.h's; the main greenlet is one, and the
 * hub, which is their event loop, is none.
 *
 *	T: hub.switch()      hub: T.switch()       T: its hub.switch() returns
 *	   T waits              a new T begins        T runs, the hub does not
 *
 * greenlet has no place where switches could be seen but settrace(), which is the program's, and
 * costs a call of a Python object for each. So the pointers by which greenlet's own functions are
 * called are ours: of the methods switch() and throw(), in their PyMethodDef, and of the two in the
 * table of its C interface. Objects, types and names stay as they are. Of gevent's loop in C
 * (libev), timer.start() and loop.run_callback() are seen in the same way: they know since when a
 * greenlet is ready. On another loop, that is an estimate after long steps.
 *
 * greenlet 2.0 and newer; where it is not as we know it, it is left alone. All of it is under the
 * GIL.
 */
#pragma once

#include <stdbool.h>

struct agent;

/* Looks whether the program has a loop of gevent's, and then watches it: true. Borrows A for good.
 */
bool await_gevent_find(struct agent *a);

/* Whether its loop in C is just being imported, as the first hub is made: the next function of
   gevent's may use it. */
bool await_gevent_comes(void);

/* Whether it was found, be it that greenlet is not as we know it, which a note has said. */
bool await_gevent_found(void);

/* The interpreter ends: what still waits has waited until now. */
void await_gevent_end(void);
