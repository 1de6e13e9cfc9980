/* SPDX-License-Identifier: MIT */
/*
 * Go's functions by their names: "net/http.(*conn).serve", "main.(*Cart).Total", "main.main.func1".
 *
 * Functions without state; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* It is of the package PACKAGE: "runtime", "net/http". */
bool go_function_is_of(const char *name, const char *package);

/* It is one of Go's own library, "runtime" included. */
bool go_function_is_standard(const char *name);

/* It is a closure, or what the compiler makes of a go statement: "main.main.func1",
   "main.main.gowrap2". */
bool go_function_is_closure(const char *name);
bool go_function_is_wrapper(const char *name);

/* NAME as documentation has it, "sync.(*Mutex).Lock" as "sync.Mutex.Lock"; cut to SIZE. */
void go_function_title(const char *name, char *title, size_t size);
