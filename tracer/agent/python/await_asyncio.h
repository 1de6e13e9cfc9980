/* SPDX-License-Identifier: MIT */
/*
 * asyncio's tasks, as steps of await_steps.h.
 *
 *	_call_soon(): ready     Handle._run(): its step     returns: it waits
 *
 * Methods of asyncio's own are replaced by C functions that call them, as soon as the program has
 * imported it: Handle._run, which runs every step of every task and every callback, and
 * BaseEventLoop._call_soon, which schedules them. _process_events, which takes what a look at the
 * descriptors has found, tells after a long step what may have been ready before. Event loops that
 * are not written in Python (uvloop) are await_foreign.h's. All of it is under the GIL.
 */
#pragma once

#include "tracer/agent/python/python_api.h"

#include <stdbool.h>
#include <stdint.h>

struct agent;

/* Looks whether the program has imported it, and then watches it: true. Borrows A for good. */
bool await_asyncio_find(struct agent *a);

/* The interpreter ends: what still waits has waited until now. */
void await_asyncio_end(void);

/* For await_foreign.h. A loop is asked for CALLBACK: true if that is a step of a task, whose run it
   has to report. */
bool await_asyncio_scheduled(py_object callback);

/* Calls CALLBACK, a task's step or what was due at DUE_NS (0: unknown), and reports it. */
py_object await_asyncio_run(py_object callback, uint64_t due_ns, py_object const *arguments,
                            intptr_t count, py_object names);
