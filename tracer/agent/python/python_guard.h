/* SPDX-License-Identifier: MIT */
/*
 * Whether memory can be read, asked before it is: a fault in a handler would be
 * the target's end, and a handler for faults would be in the target's way.
 *
 * One guard is for one walk: what is mapped now may be gone at the next. The
 * kernel is asked page by page (84 ns each), with a system call that only reads
 * eight bytes and then refuses.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define GUARD_PAGES 16 /* a power of two */

struct guard {
	uintptr_t stack_low, stack_high; /* the live part of the thread's stack; may be empty */
	uintptr_t chunk_low, chunk_high; /* of the interpreter's frames */
	uintptr_t pages[GUARD_PAGES];    /* that can be read; by number */
};

static inline bool guard_within(uintptr_t at, size_t size, uintptr_t low, uintptr_t high)
{
	return at >= low && at < high && size <= high - at;
}

/* The slow way. */
bool guard_ask(struct guard *g, uintptr_t at, size_t size);

/* Whether the kernel answers at all: a filter may forbid it. */
bool guard_works(void);

static inline bool guard_readable(struct guard *g, uintptr_t at, size_t size)
{
	return guard_within(at, size, g->chunk_low, g->chunk_high) ||
	       guard_within(at, size, g->stack_low, g->stack_high) || guard_ask(g, at, size);
}

/* What is at OFFSET from AT, which is known to be readable. */
static inline uintptr_t guard_pointer(uintptr_t at, int32_t offset)
{
	uintptr_t value;

	memcpy(&value, (const void *)(at + (uintptr_t)offset), sizeof(value));
	return value;
}

static inline int32_t guard_int(uintptr_t at, int32_t offset)
{
	int32_t value;

	memcpy(&value, (const void *)(at + (uintptr_t)offset), sizeof(value));
	return value;
}

static inline uint8_t guard_byte(uintptr_t at, int32_t offset)
{
	return *(const uint8_t *)(at + (uintptr_t)offset);
}

/* The pointer at AT. False: it cannot be read. */
static inline bool guard_load(struct guard *g, uintptr_t at, uintptr_t *out)
{
	if (at % sizeof(*out) || !guard_readable(g, at, sizeof(*out)))
		return false;
	*out = guard_pointer(at, 0);
	return true;
}
