/* SPDX-License-Identifier: MIT */
/*
 * What to do where much time is in a function of the C library, of C++'s or of Python's that
 * programs call themselves, and which profiler knows the scripts of an interpreter. Constant data,
 * for any thread.
 */
#pragma once

#include <stdbool.h>

/* Sentences; NULL if FUNCTION, as symbols name it ("__strcmp_avx2", "std::__find_if<…>(…)"), is
   none of those. FUNCTION may be NULL. */
const char *known_advice_of_call(const char *function);

/* FUNCTION only passes a call on between code of a runtime's and its own, as V8's
   "Builtins_CEntry_Return1_ArgvOnStack_BuiltinExit": what it calls is what was asked for. */
bool known_passes_on(const char *function);

/* "rbspy, or …", of the interpreter that the file MODULE is or holds; NULL if none is known. */
const char *known_profiler_of(const char *module);

/* A sentence on how its compiler names the functions of a script for us; NULL if it has none that
   does. */
const char *known_jit_of(const char *module);
