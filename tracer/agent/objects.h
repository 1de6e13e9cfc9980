/* SPDX-License-Identifier: MIT */
/*
 * Which objects the loader has in memory, and which it has unloaded.
 *
 * Not for handlers: the loader's lock is taken. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define OBJECTS_MAX 1024

struct object {
	uintptr_t start, end; /* all that it has mapped */
	bool seen;            /* by the look under way */
};

/* Zeroed before the first look. */
struct objects {
	struct object known[OBJECTS_MAX]; /* beyond that, unloading goes untold */
	uint32_t count;
	uint64_t loads, unloads; /* the loader's counts at the last look */
};

/* Calls GONE for each object that is not there any more. Returns whether there are new ones. */
bool objects_look(struct objects *o, void (*gone)(void *context, uintptr_t start, uintptr_t end),
                  void *context);
