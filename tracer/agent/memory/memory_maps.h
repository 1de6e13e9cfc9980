/* SPDX-License-Identifier: MIT */
/*
 * The mappings of memory that the program has made for itself, so that it is known what it gives
 * back, in whatever pieces.
 *
 *	add ──► |        block        |
 *	take ──►     |#####|              5 pages of it are gone
 *	take ──► |###|     |##########|   the last ones: so is the block
 *
 * Any thread, in handlers too. Nobody waits for long: who finds the table taken, as by the thread
 * that his handler has interrupted, goes without. A forked child has its parent's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MEMORY_MAPS_MAX 4096

struct memory_maps {
	uint32_t owner; /* atomic: the process whose thread is at it; 0: none */
	uint32_t count; /* atomic */
	struct memory_map {
		uintptr_t start, end;
		uintptr_t block; /* where what was mapped at once began */
	} maps[MEMORY_MAPS_MAX];
};

/* A part of a block. */
struct memory_piece {
	uintptr_t block;
	size_t bytes;
	bool last; /* nothing is left of the block */
};

/* False if it is not kept. What was known of these addresses is to be taken before. */
bool memory_maps_add(struct memory_maps *m, uintptr_t start, uintptr_t end);

/* Takes out one piece of what lies in [START, END); false if there is none. */
bool memory_maps_take(struct memory_maps *m, uintptr_t start, uintptr_t end,
                      struct memory_piece *piece);
