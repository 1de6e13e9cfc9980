/* SPDX-License-Identifier: MIT */
/*
 * Where the slices of a timeline stand: viewers want those of one track to nest.
 *
 * A track, of a thread or a GPU's stream, is one lane as long as that is so; what overlaps goes to
 * further lanes, each with a number (tid) of its own. Slices are placed in the order in which they
 * begin, of those that begin together the longest first. One thread at a time.
 */
#pragma once

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A slice of a lane that has not ended. */
struct open_slice {
	uint64_t end_ns;
	uint64_t id; /* whatever the caller says */
};

struct lane {
	uint32_t tid;
	struct open_slice *open; /* outermost first */
	size_t depth, capacity;
};

struct track {
	uint32_t pid, tid;
	bool nests; /* else slices stand in a row */
	struct lane *lanes;
	size_t lane_count, lane_capacity;
};

/* Zeroed: none. */
struct tracks {
	struct track *tracks;
	size_t count, capacity;
	uint32_t made; /* numbers that no thread has */
};

#define TRACK_LANES_MAX 256
#define TRACK_MADE      (1u << 24) /* numbers from there on are made up */

void tracks_fini(struct tracks *t);

static inline void tracks_at_scope_end(struct tracks *t)
{
	tracks_fini(t);
}

/* A track of process PID, with the number TID if no other one there has it. NULL if there is no
   memory. Valid until the next one is added. */
struct track *tracks_add(struct tracks *t, uint32_t pid, uint32_t tid, bool nests);

/* The lane in which a slice stands; *IS_NEW: nothing stood there before. NULL if there is none
   left, or no memory. */
struct lane *tracks_place(struct tracks *t, struct track *track, uint64_t begin_ns, uint64_t end_ns,
                          uint64_t id, bool *is_new);
