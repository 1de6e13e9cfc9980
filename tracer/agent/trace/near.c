// SPDX-License-Identifier: MIT
#include "tracer/agent/trace/near.h"

#include "tracer/agent/maps.h"

#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

#define PAGE   ((uintptr_t)4096)
#define REACH  (UINT64_C(0x7fffffff) - ((uintptr_t)16 << 20)) // with room for mistakes
#define LOWEST ((uintptr_t)1 << 20)                           // the kernel keeps what lies below
#define APART  ((uintptr_t)1 << 20) // from a heap or a stack, which may grow
#define TRIES  8

struct search {
	uintptr_t start, end; // of the object
	size_t size;
	uintptr_t before; // where the mapping before ends
	uintptr_t below;  // only what lies below that is looked at
	uintptr_t found;  // the place nearest to the object; 0: none
};

static uintptr_t distance(const struct search *s, uintptr_t at)
{
	uintptr_t up = at + s->size > s->start ? at + s->size - s->start : s->start - at;
	uintptr_t down = s->end > at ? s->end - at : at - s->end;

	return up > down ? up : down;
}

// As high as can be in the gap below NEXT: heaps grow up from where it begins.
static void look(struct search *s, uintptr_t next, bool apart)
{
	uintptr_t top = next < s->below ? next : s->below;
	uintptr_t low = s->before > LOWEST ? s->before : LOWEST;

	if (apart)
		top = top > APART ? top - APART : 0;
	if (top < low || top - low < s->size)
		return;
	uintptr_t at = (top - s->size) & ~(PAGE - 1);
	// From far above, as near as the gap allows.
	if (at > s->end && at - s->end > REACH / 2 && low < s->end + REACH / 2)
		at = (s->end + REACH / 2) & ~(PAGE - 1);
	if (at < low || distance(s, at) > REACH)
		return;
	if (!s->found || distance(s, at) < distance(s, s->found))
		s->found = at;
}

static void visit(void *context, const struct map *map)
{
	struct search *s = context;

	look(s, map->start, strcmp(map->path, "[stack]") == 0);
	s->before = map->end;
}

void *near_map(uintptr_t start, uintptr_t end, size_t size)
{
	struct search s = { .start = start, .end = end, .below = UINTPTR_MAX };

	s.size = (size + PAGE - 1) & ~(PAGE - 1);
	for (int i = 0; i < TRIES; i++) {
		s.before = s.found = 0;
		if (!maps_each(visit, &s) || !s.found)
			return NULL;
		// Not by mmap(), which counts what the program takes.
		void *memory =
			(void *)syscall(SYS_mmap, s.found, s.size, PROT_READ | PROT_WRITE,
		                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
		if (memory == (void *)s.found)
			return memory;
		// Taken meanwhile, or a kernel before 4.17, to which the address is but a wish.
		if (memory != MAP_FAILED)
			syscall(SYS_munmap, memory, s.size);
		s.below = s.found;
	}
	return NULL;
}
