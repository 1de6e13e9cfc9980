/* SPDX-License-Identifier: MIT */
/*
 * How large blocks are, by their page, for an allocator that keeps blocks of one size alone in a
 * page: what was last noted of a page holds for each block in it that is alive, as the page must
 * have been empty before it took another size.
 *
 *	malloc: note ──► [ page, bytes ] ──► find: free
 *
 * It forgets at will. All allocations are to be noted, also those of blocks that are too large:
 * their page may have held small ones. Any thread, in handlers too.
 */
#pragma once

#include <stdint.h>

#define MEMORY_PAGES_BITS  12
#define MEMORY_PAGES_COUNT (1u << MEMORY_PAGES_BITS)
#define MEMORY_PAGES_SHIFT 12

/* Zeroed memory knows nothing. */
struct memory_pages {
	uint64_t entries[MEMORY_PAGES_COUNT]; /* atomic: page << 16 | bytes; 0 bytes: unknown */
};

static inline void memory_pages_note(struct memory_pages *m, const void *p, uint64_t bytes)
{
	uint64_t page = (uint64_t)(uintptr_t)p >> MEMORY_PAGES_SHIFT;
	uint64_t *entry = &m->entries[page % MEMORY_PAGES_COUNT];
	uint64_t said = page << 16 | (bytes <= UINT16_MAX ? bytes : 0);

	if (__builtin_expect(__atomic_load_n(entry, __ATOMIC_RELAXED) != said, 0))
		__atomic_store_n(entry, said, __ATOMIC_RELAXED);
}

/* 0: unknown */
static inline uint64_t memory_pages_find(const struct memory_pages *m, const void *p)
{
	uint64_t page = (uint64_t)(uintptr_t)p >> MEMORY_PAGES_SHIFT;
	uint64_t said = __atomic_load_n(&m->entries[page % MEMORY_PAGES_COUNT], __ATOMIC_RELAXED);

	return said >> 16 == page ? said & UINT16_MAX : 0;
}
