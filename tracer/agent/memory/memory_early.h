/* SPDX-License-Identifier: MIT */
/*
 * Memory for those who ask before the program's allocator is known: looking it
 * up may itself allocate. Little of it, never given back. Before each block stands what glibc has
 * before one that is a mapping of its own.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MEMORY_EARLY_BYTES 65536

extern char memory_early[MEMORY_EARLY_BYTES];

/* Zeroed and aligned to ALIGNMENT, a power of two. NULL if there is no more. */
void *memory_early_take(size_t bytes, size_t alignment);

/* How large P is, which memory_early_owns(). */
size_t memory_early_size(const void *p);

bool memory_early_is_used(void);

static inline bool memory_early_owns(const void *p)
{
	return (uintptr_t)p - (uintptr_t)memory_early < MEMORY_EARLY_BYTES;
}
