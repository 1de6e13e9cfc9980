/* SPDX-License-Identifier: MIT */
/*
 * Memory for what providers have to remember of the target's domains, strings
 * and ids: taken once, never given back, handed down to forked children.
 *
 * Any thread at any time; nothing is waited for. There is one store in a
 * process, and a limit to it: beyond that there is nothing to be had.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STORE_BYTES ((size_t)16 << 20)

/* Zeroed, aligned to 8 bytes. NULL if there is no more. */
void *store_take(size_t bytes);

/* A copy of TEXT, cut after LIMIT bytes. NULL if there is no more. */
const char *store_text(const char *text, size_t limit);

extern char *store_start; /* atomic; NULL: nothing has been taken */

/* Whether POINTER is the address of BYTES of the store. */
static inline bool store_holds(const void *pointer, size_t bytes)
{
	const char *start = __atomic_load_n(&store_start, __ATOMIC_ACQUIRE);
	size_t at = (size_t)((uintptr_t)pointer - (uintptr_t)start);

	return start && at % 8 == 0 && at < STORE_BYTES && bytes <= STORE_BYTES - at;
}

/*
 * Where things stand, by a key of any 64 bits. An entry is never removed; the
 * value under a key may change.
 */
#define TABLE_SLOTS 32768 /* a power of two */

struct table {
	struct table_slot {
		uint64_t key;      /* atomic; 0: free */
		const void *value; /* atomic */
	} slots[TABLE_SLOTS];
};

/* NULL if there is no such key. */
const void *table_get(const struct table *t, uint64_t key);

/* False if there is no room. */
bool table_put(struct table *t, uint64_t key, const void *value);
