/* SPDX-License-Identifier: MIT */
/*
 * The interpreter of a process that nobody has been put into, from outside: its maps lead to the
 * file that exports _PyRuntime, and the symbols of that file to the rest.
 *
 * No state of its own; the file is read as foreign bytes are.
 */
#pragma once

#include "sampler/event/event.h"
#include "sampler/python/python_remote_tasks.h"

#include <stdbool.h>
#include <stdint.h>

/* False: PID runs no CPython of a version that is known, or its files cannot be read. */
bool python_find(uint32_t pid, struct event_python *out);

/* A python_tasks_own_function: from the file of _asyncio, or of the interpreter that has it. */
bool python_find_tasks(uint32_t pid, struct python_tasks_own *out);
