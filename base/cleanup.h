/* SPDX-License-Identifier: MIT */
/*
 * Scope frees: `cleanup_free char *s = strdup(x);` is freed on every way out,
 * and `return steal(s);` hands it over instead. Each module defines the
 * cleanup_* macro of its own types beside their _free with CLEANUP().
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Defines NAME, to be put in front of a TYPE whose destructor is FREE(TYPE). */
#define CLEANUP(name, type, free_function)                                                         \
	static inline void name##_at_scope_end(type *p) /* NOLINT(bugprone-macro-parentheses) */   \
	{                                                                                          \
		free_function(*p);                                                                 \
	}

#define cleanup(name) __attribute__((__cleanup__(name##_at_scope_end)))

/* The pointer's value; the pointer itself becomes NULL. */
#define steal(pointer)                                                                             \
	({                                                                                         \
		__typeof__(pointer) stolen_ = (pointer);                                           \
		(pointer) = NULL;                                                                  \
		stolen_;                                                                           \
	})

/* The descriptor's value; the variable itself becomes -1. */
static inline int steal_fd(int *fd)
{
	int stolen = *fd;

	*fd = -1;
	return stolen;
}

static inline void free_at_scope_end(void *p)
{
	free(*(void **)p);
}

static inline void close_at_scope_end(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void fclose_at_scope_end(FILE **file)
{
	if (*file)
		fclose(*file);
}

#define cleanup_free   __attribute__((__cleanup__(free_at_scope_end)))
#define cleanup_close  __attribute__((__cleanup__(close_at_scope_end)))
#define cleanup_fclose __attribute__((__cleanup__(fclose_at_scope_end)))
