// SPDX-License-Identifier: MIT
#include "tracer/agent/memory/memory_maps.h"

#include <unistd.h>

#define PATIENCE 2000 // looks: longer than anybody needs

// Whoever had it when another process forked this one is not here.
static bool lock(struct memory_maps *m)
{
	uint32_t self = (uint32_t)getpid();

	for (int i = 0; i < PATIENCE; i++) {
		uint32_t owner = __atomic_load_n(&m->owner, __ATOMIC_RELAXED);
		if (owner == self) {
			__builtin_ia32_pause();
			continue;
		}
		if (__atomic_compare_exchange_n(&m->owner, &owner, self, false, __ATOMIC_ACQUIRE,
		                                __ATOMIC_RELAXED))
			return true;
	}
	return false;
}

static void unlock(struct memory_maps *m)
{
	__atomic_store_n(&m->owner, 0, __ATOMIC_RELEASE);
}

static bool put(struct memory_maps *m, uintptr_t start, uintptr_t end, uintptr_t block)
{
	uint32_t count = m->count;

	if (count == MEMORY_MAPS_MAX)
		return false;
	m->maps[count] = (struct memory_map){ start, end, block };
	__atomic_store_n(&m->count, count + 1, __ATOMIC_RELAXED);
	return true;
}

bool memory_maps_add(struct memory_maps *m, uintptr_t start, uintptr_t end)
{
	if (!lock(m))
		return false;
	bool kept = put(m, start, end, start);
	unlock(m);
	return kept;
}

static struct memory_map *find(struct memory_maps *m, uintptr_t start, uintptr_t end)
{
	for (uint32_t i = 0; i < m->count; i++)
		if (m->maps[i].start < end && start < m->maps[i].end)
			return &m->maps[i];
	return NULL;
}

static bool has_block(const struct memory_maps *m, uintptr_t block)
{
	for (uint32_t i = 0; i < m->count; i++)
		if (m->maps[i].block == block)
			return true;
	return false;
}

// Where a hole needs room that is not there, what lies behind it is forgotten.
static void cut(struct memory_maps *m, struct memory_map *map, uintptr_t start, uintptr_t end)
{
	const struct memory_map whole = *map;

	if (start > whole.start) {
		map->end = start;
		if (end < whole.end)
			put(m, end, whole.end, whole.block);
	} else if (end < whole.end) {
		map->start = end;
	} else {
		__atomic_store_n(&m->count, m->count - 1, __ATOMIC_RELAXED);
		*map = m->maps[m->count];
	}
}

bool memory_maps_take(struct memory_maps *m, uintptr_t start, uintptr_t end,
                      struct memory_piece *piece)
{
	if (!__atomic_load_n(&m->count, __ATOMIC_RELAXED) || !lock(m))
		return false;
	struct memory_map *map = find(m, start, end);
	if (map) {
		uintptr_t from = map->start > start ? map->start : start;
		uintptr_t to = map->end < end ? map->end : end;
		*piece = (struct memory_piece){ map->block, to - from, false };
		cut(m, map, from, to);
		piece->last = !has_block(m, piece->block);
	}
	unlock(m);
	return map;
}
