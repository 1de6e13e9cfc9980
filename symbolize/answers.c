// SPDX-License-Identifier: MIT
#include "symbolize/answers.h"

#include "base/array.h"

#include <stdlib.h>

void answers_fini(struct answers *a)
{
	free(a->items);
	hash_fini(&a->index);
	*a = (struct answers){ 0 };
}

// The slot of ADDRESS, or the free one where it belongs.
static uint32_t slot_of(const struct answers *a, uint64_t address)
{
	uint32_t at = hash_start(&a->index, hash_mix(address));

	while (a->index.slots[at] && a->items[a->index.slots[at] - 1].address != address)
		at = hash_next(&a->index, at);
	return at;
}

const struct symbol_chain *answers_find(const struct answers *a, uint64_t address)
{
	if (!a->count)
		return NULL;
	uint32_t id = a->index.slots[slot_of(a, address)];
	return id ? &a->items[id - 1].chain : NULL;
}

static bool has_room(struct answers *a)
{
	if (!a->index.slots)
		return hash_init(&a->index, 64);
	return hash_make_room(&a->index);
}

bool answers_add(struct answers *a, uint64_t address, struct symbol_chain chain)
{
	if (!has_room(a) || !array_reserve(&a->items, &a->capacity, a->count + 1))
		return false;
	a->items[a->count++] = (struct answer){ address, chain };
	hash_insert(&a->index, slot_of(a, address), hash_mix(address), (uint32_t)a->count);
	return true;
}
