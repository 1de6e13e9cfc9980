/* SPDX-License-Identifier: MIT */
/*
 * How long the calls of an op took, one after the other: what warm-up is seen in.
 *
 * A series is one op with one shape in one process. Its first calls are kept one by one, later ones
 * in blocks of so many calls each; when there are too many blocks, two become one. For the files of
 * merge/ alone. One thread at a time.
 *
 *	[call call … SERIES_EXACT of them | block block … at most SERIES_BLOCKS, the last not full]
 */
#pragma once

#include "base/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SERIES_EXACT  512u
#define SERIES_BLOCKS 256u
#define SERIES_MAX    2048u

struct series_item {
	uint64_t begin_ns; /* of its first call */
	uint64_t ns;       /* of all its calls */
};

struct series {
	uint32_t op;      /* id, base/op.h */
	uint32_t shape;   /* string; 0: none */
	uint32_t process; /* slot */
	uint32_t count;   /* of items */
	uint64_t calls;
	uint64_t block_calls; /* of each block but the last */
	struct series_item *items;
	size_t capacity;
};

struct series_table {
	struct series *series;
	uint32_t count;
	size_t capacity;
	struct hash index;
	uint64_t lost; /* calls that found no room */
};

void series_fini(struct series_table *t);

/* The id (index + 1) of a series, added if it is new; 0 if there is no room. */
uint32_t series_get(struct series_table *t, uint32_t op, uint32_t shape, uint32_t process);

/* The id of a series that is there; 0 if it is not. */
uint32_t series_find(const struct series_table *t, uint32_t op, uint32_t shape, uint32_t process);

/* One more call of series ID, or of none (0). Calls come in their order. */
void series_add(struct series_table *t, uint32_t id, uint64_t begin_ns, uint64_t ns);

/* An item that stands in a file, behind the others. False if there is no memory. */
bool series_append(struct series *s, const struct series_item *item);

/* How many calls item I stands for. */
uint64_t series_item_calls(const struct series *s, uint32_t i);

uint64_t series_total_ns(const struct series *s);
