/* SPDX-License-Identifier: MIT */
/*
 * Whose malloc() the process has: libc's, or one that stands before it in scope, and what is known
 * of its blocks.
 *
 * Found once, before there are threads; what calls these may be malloc() itself.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define ALLOCATOR_HIDDEN __attribute__((visibility("hidden")))

struct allocator {
	void *(*malloc)(size_t size);
	void *(*calloc)(size_t count, size_t size);
	void *(*realloc)(void *p, size_t size);
	void (*free)(void *p);
	int (*posix_memalign)(void **p, size_t alignment, size_t size);
	void *(*aligned_alloc)(size_t alignment, size_t size);
	void *(*memalign)(size_t alignment, size_t size);
	void *(*valloc)(size_t size);
	void *(*pvalloc)(size_t size);
	size_t (*malloc_usable_size)(void *p);
};

/* The next in scope behind our own functions. */
extern struct allocator allocator ALLOCATOR_HIDDEN;

/* Looks them up. False if there is no whole allocator. */
bool allocator_find(void) ALLOCATOR_HIDDEN;

/* Why allocations cannot be counted; NULL: they can. */
const char *allocator_obstacle(void) ALLOCATOR_HIDDEN;

/* Whether the blocks of one function are those of another, to be asked for their size and freed. */
bool allocator_is_kin(const void *one, const void *other) ALLOCATOR_HIDDEN;

/* Whether it is glibc's, and blocks have the headers below. */
bool allocator_has_headers(void) ALLOCATOR_HIDDEN;

/*
 * glibc's malloc keeps the size of a block in the word before it, with three flags, since 2.0:
 *
 *	| size + 8, flags |  block … |
 *
 * Reading it costs a third of asking, and touches nothing else. It is done only where it has
 * been seen to say the same as malloc_usable_size(); blocks that are mappings are asked for.
 */
#define ALLOCATOR_MAPPED 2
#define ALLOCATOR_FLAGS  7

static inline size_t allocator_header(const void *p)
{
	return ((const size_t *)p)[-1];
}

static inline size_t allocator_header_bytes(const void *p)
{
	return (allocator_header(p) & ~(size_t)ALLOCATOR_FLAGS) - sizeof(size_t);
}
