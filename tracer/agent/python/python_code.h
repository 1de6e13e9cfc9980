/* SPDX-License-Identifier: MIT */
/*
 * The numbers of Python code objects, told when they are first used.
 *
 * A number stands for what is told, file, function and lines: code objects that
 * are made again and again have one. They are freed, and others come to lie in
 * their place, so one is known by its parts, not by its address. For handlers of
 * any thread at once; nothing is waited for, and no number is ever given back, so
 * there is a limit to how many there are.
 */
#pragma once

#include "tracer/agent/python/python_guard.h"

#include <stdbool.h>
#include <stdint.h>

struct agent;
struct lane;
struct python_runtime;

/* Whether a code object is at CODE, which G is asked about. */
bool python_code_is_there(const struct python_runtime *r, struct guard *g, uintptr_t code);

/*
 * The number of the code object at CODE, told into LANE if it has not been told. 0: it cannot be
 * read, or there is no room at the moment.
 */
uint32_t python_code_number(const struct python_runtime *r, struct guard *g, struct agent *a,
                            struct lane *lane, uintptr_t code);

/* The same number, told or not: for callers that see to that later. */
uint32_t python_code_find(const struct python_runtime *r, struct guard *g, uintptr_t code);

/* Whether the function of this number has been reported in this process. */
bool python_code_is_told(uint32_t number);

#define PYTHON_CODES_MAX ((uint32_t)1 << 17) /* numbers are from 1 to this one */

/* All are to be reported again. */
void python_code_fork(void);
