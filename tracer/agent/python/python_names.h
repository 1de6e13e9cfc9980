/* SPDX-License-Identifier: MIT */
/*
 * The names of C functions as Python knows them, in the words of cProfile: "{method 'sort' of
 * 'list' objects}", "{built-in method builtins.len}".
 *
 * What modules and types hold is walked through, each C function that is new is told, with the
 * address where it begins. One that goes by several names (all functions of a library that makes
 * them at run time begin in one place) is reported to have none.
 */
#pragma once

#include <stdbool.h>

struct agent;

/*
 * Under the GIL, in the main thread. Does nothing where it would cost more than 1 % of the CPU time
 * that the process has used. LAST: the interpreter is about to end.
 */
void python_names_walk(struct agent *a, bool last);
