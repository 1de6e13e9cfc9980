/* SPDX-License-Identifier: MIT */
/*
 * C functions that Python calls, by the names that it has for them.
 *
 * In a stack the outermost one below a Python function is what that one has called: it gets
 * Python's name (FRAME_CALLED_*). What the same library does below it, and has no lines to show,
 * is part of it, as the interpreter's own code is of a Python function.
 *
 *	work           Python            work
 *	cfunction_call interpreter       (hidden)
 *	builtin_sorted interpreter   →   {built-in method builtins.sorted}
 *	list_sort      interpreter       (hidden)
 *	memmove        libc              memmove
 *
 * A compiler may have put the code of such a function into one that calls it by a pointer: that one
 * has its name then (see function_starts_compares()).
 *
 * The nodes of the tree that stand for these are moved to locations of their own, until more is
 * added to the profile. For the files of merge/ alone.
 */
#pragma once

#include "base/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile;

struct callable {
	uint64_t offset; /* in the module's file, where the function begins */
	uint32_t module;
	uint32_t name; /* string; 0: it has several, and so none */
};

struct moved_node {
	uint32_t node, location; /* where it was */
};

struct callables {
	struct callable *all; /* [id - 1] */
	uint32_t count;
	size_t capacity;
	struct hash index;
	struct moved_node *moved;
	size_t moved_count, moved_capacity;
};

#define CALLABLES_MAX 1000000

void callables_fini(struct callables *c);

/* The function that begins there is called so, from now on. False if there is no memory. */
bool callables_add(struct callables *c, const struct callable *callable);

/* Gives names to the nodes of P that stand for callables. What is found in files for that is kept
   in DIRECTORY (symbolize/elf/section_cache.h); NULL: it is not. False if there is no memory. */
bool callables_apply(struct profile *p, const char *directory);

/* Takes that back. */
void callables_undo(struct profile *p);
