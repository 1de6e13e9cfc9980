/* SPDX-License-Identifier: MIT */
/*
 * The tree of call paths, as numbered nodes {parent, location}.
 *
 * Ids start at 1 and a parent's id is smaller than its children's, so one pass
 * up or down the array is a walk of the tree. A node without parent is the root
 * of a thread; its location is the thread's slot. What a node weighs is kept
 * elsewhere (merge/table/cells.h). One thread at a time.
 */
#pragma once

#include "base/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct path_node {
	uint32_t parent;   /* 0: a root */
	uint32_t location; /* a root's: slot of its thread */
};

struct paths {
	struct path_node *nodes; /* [id - 1] */
	uint32_t count;
	size_t capacity;
	struct hash index;
};

bool paths_init(struct paths *p); /* false if there is no memory */
void paths_fini(struct paths *p);

static inline const struct path_node *paths_node(const struct paths *p, uint32_t id)
{
	return &p->nodes[id - 1];
}

/* The child of PARENT at LOCATION, added if it is new. 0 if there is no memory. */
uint32_t paths_child(struct paths *p, uint32_t parent, uint32_t location);

/* Adds what is known to be new, e.g. from a file. 0 if there is no memory. */
uint32_t paths_append(struct paths *p, uint32_t parent, uint32_t location);

/*
 * Folds the lightest subtrees, so that besides the roots at most KEEP nodes stay.
 * What is folded is found below a child at FOLDED_LOCATION of one of its callers
 * that stay: its own location without those between, so that every location keeps its own
 * time; or, where that would make more than BUDGET nodes in all, just that child. WEIGHTS holds
 * each node's total, itself and all below [id - 1]. MAP receives each node's
 * new id. False (and unchanged, but for MAP) if there is no memory.
 */
bool paths_fold(struct paths *p, const uint64_t *weights, uint32_t keep, uint32_t budget,
                uint32_t folded_location, uint32_t *map);

/* Gives each node that is no root the location MAP[location - 1]. */
void paths_move_locations(struct paths *p, const uint32_t *map);
