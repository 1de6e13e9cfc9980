/* SPDX-License-Identifier: MIT */
/*
 * CUDA's calls, by the numbers under which what they cause is reported later.
 *
 * Kept until CORRELATIONS_MAX or more others have come, so that memory is bounded: a GPU's queue
 * holds some thousands. One thread at a time.
 */
#pragma once

#include "base/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CORRELATIONS_MAX (1u << 19)

struct correlated_call {
	uint64_t begin_ns;
	uint32_t process, correlation;
	uint32_t site, op;
};

struct correlated_generation {
	struct correlated_call *calls;
	uint32_t count;
	size_t capacity;
	struct hash index;
};

struct correlations {
	struct correlated_generation young, old; /* what is in neither is forgotten */
};

bool correlations_init(struct correlations *c); /* false if there is no memory; then fini() */
void correlations_fini(struct correlations *c); /* of what is zeroed, too */

/* A correlation that comes again, after 2^32 others, is of the new call. A call that finds no
   memory is forgotten. */
void correlations_put(struct correlations *c, const struct correlated_call *call);

/* NULL if it is not known. It lives until the next call is put. */
const struct correlated_call *correlations_find(const struct correlations *c, uint32_t process,
                                                uint32_t correlation);
