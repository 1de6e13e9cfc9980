/* SPDX-License-Identifier: MIT */
/*
 * The classes and functions of a source file that a function of Python is in.
 *
 * Up to 3.10 a code object has its function's own name alone. From 3.11 on it has co_qualname
 * (PEP 3155), which this finds in the source: "Pool.map", "outer.<locals>.inner".
 *
 * The text is foreign bytes: it is only read within its bounds, and what is no Python has no names.
 * Without state, for any thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * The qualified name of function or class NAME whose code begins at FIRST_LINE (from 1 on) of a
 * file with SIZE bytes of TEXT: at its first decorator, or its def or class. NULL: none of that
 * name begins there, or there is no memory. The caller's, by free().
 */
char *python_qualified_name(const char *text, size_t size, uint32_t first_line, const char *name);
