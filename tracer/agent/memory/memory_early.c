// SPDX-License-Identifier: MIT
#include "tracer/agent/memory/memory_early.h"

#include "tracer/agent/table.h"

// Before a block stands its size, and in the next word that it is none of glibc's heap.
#define HEADER        16
#define NOT_OF_A_HEAP ((size_t)2)

AGENT_TABLE char memory_early[MEMORY_EARLY_BYTES] __attribute__((aligned(4096)));

static size_t used; // atomic

static size_t round_up(size_t at, size_t alignment)
{
	return (at + alignment - 1) & ~(alignment - 1);
}

void *memory_early_take(size_t bytes, size_t alignment)
{
	size_t from = __atomic_load_n(&used, __ATOMIC_RELAXED), at;

	if (alignment < HEADER)
		alignment = HEADER;
	if (bytes > MEMORY_EARLY_BYTES || alignment > MEMORY_EARLY_BYTES)
		return NULL;
	do {
		at = round_up(from + HEADER, alignment);
		if (at + bytes > MEMORY_EARLY_BYTES)
			return NULL;
	} while (!__atomic_compare_exchange_n(&used, &from, round_up(at + bytes, HEADER), true,
	                                      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	*(size_t *)(memory_early + at - HEADER) = bytes;
	*(size_t *)(memory_early + at - sizeof(size_t)) = NOT_OF_A_HEAP;
	return memory_early + at;
}

size_t memory_early_size(const void *p)
{
	return *(const size_t *)((const char *)p - HEADER);
}

bool memory_early_is_used(void)
{
	return __atomic_load_n(&used, __ATOMIC_RELAXED) != 0;
}
