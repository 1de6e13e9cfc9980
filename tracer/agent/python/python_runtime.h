/* SPDX-License-Identifier: MIT */
/*
 * The interpreter in this process: where it is, and what its structs look like.
 */
#pragma once

#include "base/python_layout.h"

#include <stdbool.h>
#include <stdint.h>

struct python_runtime {
	struct python_layout layout;
	void *object;      /* where dlsym() finds its functions */
	uintptr_t runtime; /* _PyRuntime */
	uintptr_t code_type;
	uintptr_t eval_start, eval_end;
	void *(*current)(void); /* up to 3.11: the thread state that holds the GIL, in any thread */
	void *(*own)(void);     /* up to 3.14: the calling thread's, whether it runs or not */
	void *(*own_outside)(void); /* the same, of any version; not for handlers */
};

enum python_found {
	PYTHON_NOT_THERE,
	PYTHON_FOUND,
	PYTHON_REFUSED /* there is one, but not to be read: WHY */
};

/* Not for handlers. WHY is static text. */
enum python_found python_runtime_find(struct python_runtime *out, const char **why);
