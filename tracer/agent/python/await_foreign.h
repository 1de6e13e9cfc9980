/* SPDX-License-Identifier: MIT */
/*
 * asyncio's tasks on an event loop that is not written in Python, as uvloop's: its handles are C,
 * and no method of asyncio's own runs them. The tasks are asyncio's, and ask the loop for each of
 * their steps:
 *
 *	class Loop(C's, AbstractEventLoop)   found as it is made, by __init_subclass__
 *	loop.call_soon(step)        ──►      call_soon(ours), which runs the step
 *	loop.call_later(s, result)  ──►      call_later(s, ours), which knows when it was due
 *
 * Steps of tasks and results of sleeps alone are wrapped: what the program has handed to the loop
 * itself reaches it as it is. All of it is under the GIL.
 */
#pragma once

#include <stdbool.h>

/* asyncio is there. Loops that come, or have come, are watched from now on. */
void await_foreign_start(void);

/* Whether there was one. */
bool await_foreign_found(void);
