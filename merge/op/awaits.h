/* SPDX-License-Identifier: MIT */
/*
 * What tasks of event loops did with their time: sums by kind and chain of awaits (base/await.h).
 *
 * The table owns its rows. One thread at a time. For the files of merge/ alone.
 */
#pragma once

#include "base/await.h"
#include "base/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct await_place {
	uint32_t function, file; /* strings; 0: unknown */
	uint32_t line;           /* 0: unknown */
};

struct await_row {
	uint32_t kind;               /* enum await_kind */
	uint32_t first, place_count; /* of the places; the first one is the coroutine */
	uint64_t count, ns, longest_ns;
};

struct awaits {
	struct await_row *rows;
	struct await_place *places;
	size_t count, capacity, place_count, place_capacity;
	struct hash index;
};

#define AWAITS_MAX (1u << 18)

void awaits_fini(struct awaits *a);

/* Adds MORE, whose places are PLACES, to the row of these. False if there is no room. */
bool awaits_add(struct awaits *a, const struct await_row *more, const struct await_place *places);

/* NULL: there is none. */
const struct await_row *awaits_find(const struct awaits *a, uint32_t kind,
                                    const struct await_place *places, uint32_t place_count);
