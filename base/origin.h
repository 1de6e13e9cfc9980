/* SPDX-License-Identifier: MIT */
/*
 * Whose code it is, as far as its place tells.
 */
#pragma once

#include <stdbool.h>

/* The file of what libraries of Python made by exec(), unless the program is such a text itself. */
#define ORIGIN_MADE "<exec>"

/*
 * True for code that the user most likely did not write: the kernel, the vDSO, system libraries,
 * Python's own modules and those that were installed beside them, the program of a language's
 * runtime (node, perl, java ...). MODULE and FILE may be NULL.
 */
bool origin_is_foreign(const char *module, const char *file);

/*
 * True for the runtimes of OpenMP (libgomp, libomp, libiomp5): what they compute themselves is
 * mostly waiting of threads for each other. MODULE may be NULL.
 */
bool origin_is_openmp(const char *module);

/* True for glibc's libc and libpthread. MODULE may be NULL. */
bool origin_is_libc(const char *module);

/* True for code that was compiled at run time, "[jit 4711]". MODULE may be NULL. */
bool origin_is_jit(const char *module);

/* True for a program that the system brought, as /usr/bin/make. MODULE may be NULL. */
bool origin_is_installed(const char *module);

/*
 * True for the interpreter of a language whose functions are not recorded (Perl, Ruby, PHP, Lua, R,
 * Tcl, Guile, awk, shells), a program or its library: its symbols name nothing of a script's.
 * MODULE may be NULL.
 */
bool origin_is_interpreter(const char *module);

/* Of these, a shell. */
bool origin_is_shell(const char *module);

/* True for the interpreter of Python itself, a program or libpython. MODULE may be NULL. */
bool origin_is_python(const char *module);
