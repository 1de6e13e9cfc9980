// SPDX-License-Identifier: MIT
// The program's own malloc(), as a statically linked allocator is: never gives anything back.
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#pragma GCC visibility push(default) // as allocators are: the libraries use it too

#define HEADER 16
#define ARENA  ((size_t)1 << 34)

static char *arena;
static size_t used; // atomic

static void *take(size_t size, size_t alignment)
{
	if (!__atomic_load_n(&arena, __ATOMIC_ACQUIRE)) {
		char *none = NULL;
		char *mapped = mmap(NULL, ARENA, PROT_READ | PROT_WRITE,
		                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		__atomic_compare_exchange_n(&arena, &none, mapped, 0, __ATOMIC_ACQ_REL,
		                            __ATOMIC_ACQUIRE);
	}
	if (size > ARENA / 4) {
		errno = ENOMEM;
		return NULL;
	}
	size_t room = size + alignment + HEADER;
	uintptr_t from = (uintptr_t)arena + __atomic_fetch_add(&used, room, __ATOMIC_RELAXED);
	uintptr_t at = (from + HEADER + alignment - 1) & ~(alignment - 1);
	((size_t *)at)[-1] = size;
	return (void *)at;
}

void *malloc(size_t size)
{
	return take(size, 16);
}

void free(void *p)
{
	(void)p;
}

void *calloc(size_t count, size_t size)
{
	return take(count * size, 16);
}

size_t malloc_usable_size(void *p)
{
	return p ? ((size_t *)p)[-1] : 0;
}

void *realloc(void *p, size_t size)
{
	void *moved = take(size, 16);

	if (moved && p)
		memcpy(moved, p, malloc_usable_size(p) < size ? malloc_usable_size(p) : size);
	return moved;
}

void *memalign(size_t alignment, size_t size)
{
	return take(size, alignment);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return take(size, alignment);
}

int posix_memalign(void **p, size_t alignment, size_t size)
{
	*p = take(size, alignment);
	return *p ? 0 : ENOMEM;
}
