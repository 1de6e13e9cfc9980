// SPDX-License-Identifier: MIT
#include "tracer/agent/op/ranges.h"

#define TRIED 32
#define BUSY  UINT64_MAX

// Keys that are counted up lie side by side.
static struct ranges_slot *slot_of(struct ranges *r, uint64_t key, uint64_t number)
{
	return &r->slots[(key + number) % RANGES_SLOTS];
}

static bool change(struct ranges_slot *slot, uint64_t from, uint64_t to)
{
	return __atomic_compare_exchange_n(&slot->key, &from, to, false, __ATOMIC_ACQUIRE,
	                                   __ATOMIC_RELAXED);
}

static struct ranges_slot *claim(struct ranges *r, uint64_t key)
{
	for (uint64_t i = 0; i < TRIED; i++) {
		struct ranges_slot *slot = slot_of(r, key, i);
		if (change(slot, 0, BUSY))
			return slot;
	}
	struct ranges_slot *oldest = slot_of(r, key, 0);
	uint64_t known = __atomic_load_n(&oldest->key, __ATOMIC_RELAXED);
	return known != BUSY && change(oldest, known, BUSY) ? oldest : NULL;
}

void ranges_put(struct ranges *r, uint64_t key, const struct op_thread *t, struct op_range range)
{
	struct ranges_slot *slot = claim(r, key);

	if (!slot)
		return;
	slot->generation = t->generation;
	slot->range = range;
	__atomic_store_n(&slot->key, key, __ATOMIC_RELEASE);
}

bool ranges_take(struct ranges *r, uint64_t key, const struct op_thread *t, struct op_range *range)
{
	for (uint64_t i = 0; i < TRIED && key && key != BUSY; i++) {
		struct ranges_slot *slot = slot_of(r, key, i);
		if (__atomic_load_n(&slot->key, __ATOMIC_RELAXED) != key ||
		    !change(slot, key, BUSY))
			continue;
		bool ours = slot->generation == t->generation;
		*range = slot->range;
		__atomic_store_n(&slot->key, 0, __ATOMIC_RELEASE);
		return ours;
	}
	return false;
}
