/* SPDX-License-Identifier: MIT */
/*
 * trio's tasks, as steps of await_steps.h.
 *
 *	Runner.reschedule(task): ready     task._next_send_fn(): its step     returns: it waits
 *
 * Two methods of trio's own are replaced by C functions that call them: Runner.reschedule, which
 * also puts a C function in the place of the coroutine's send() that it has left in the task, for
 * this one step; and Deadlines.expire, which knows when a timeout was due. trio's instruments are
 * left to the program. A task is known by its coroutine. trio's own tasks (trio/_core) are not
 * among them; what its queue for other threads runs is a callback.
 *
 * trio 0.19 and newer; where it is not as we know it, it is left alone. All of it is under the GIL.
 */
#pragma once

#include <stdbool.h>

struct agent;

/* Looks whether the program has imported it, and then watches it: true. Borrows A for good. */
bool await_trio_find(struct agent *a);

/* Whether it was found, be it that it is not as we know it, which a note has said. */
bool await_trio_found(void);

/* The interpreter ends: what still waits has waited until now. */
void await_trio_end(void);
