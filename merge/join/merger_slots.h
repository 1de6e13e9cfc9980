/* SPDX-License-Identifier: MIT */
/*
 * Which slot the processes, or the threads, of merged profiles have: those called alike share one,
 * the first of a part with the first of the others, the second with the second.
 *
 * for merge/join/ alone. One thread at a time.
 */
#pragma once

#include "base/hash.h"

#include <stddef.h>
#include <stdint.h>

/* All that are called alike. */
struct merger_group {
	uint32_t owner; /* of threads: the slot of their process */
	uint32_t name;  /* string */
	uint32_t first; /* slot; 0: none yet */
	uint32_t taken; /* by the part PART, last */
	uint32_t part;
};

struct merger_slots {
	struct merger_group *groups; /* [id - 1] */
	uint32_t group_count;
	size_t group_capacity;
	struct hash index;
	uint32_t *next; /* [slot - 1]: of the same group; 0: none */
	uint32_t count;
	size_t capacity;
};

/* Zeroed when empty. */
void merger_slots_fini(struct merger_slots *s);

/*
 * The slot of the next one of OWNER that is called NAME in part PART (from 1): a new one if no part
 * had so many, unless there are MOST slots by then. 0 if there is no memory.
 */
uint32_t merger_slots_take(struct merger_slots *s, uint32_t part, uint32_t owner, uint32_t name,
                           uint32_t most);
