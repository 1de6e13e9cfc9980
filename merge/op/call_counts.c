// SPDX-License-Identifier: MIT
#include "merge/op/call_counts.h"

#include "base/array.h"

#include <stdlib.h>

static uint64_t hash_of(uint32_t function, uint32_t file)
{
	return hash_pair(function, file);
}

void call_counts_fini(struct call_counts *c)
{
	free(c->all);
	hash_fini(&c->index);
	*c = (struct call_counts){ 0 };
}

// Its slot, or the one where it belongs.
static uint32_t slot_of(const struct call_counts *c, uint32_t function, uint32_t file)
{
	uint32_t at = hash_start(&c->index, hash_of(function, file));

	for (; c->index.slots[at]; at = hash_next(&c->index, at)) {
		const struct call_count *known = &c->all[c->index.slots[at] - 1];
		if (known->function == function && known->file == file)
			break;
	}
	return at;
}

bool call_counts_add(struct call_counts *c, const struct call_count *more)
{
	if (!c->index.slots && !hash_init(&c->index, 256))
		return false;
	if (!hash_make_room(&c->index))
		return false;
	uint32_t at = slot_of(c, more->function, more->file);
	if (c->index.slots[at]) {
		c->all[c->index.slots[at] - 1].calls += more->calls;
		return true;
	}
	if (c->count == CALL_COUNTS_MAX ||
	    !array_reserve(&c->all, &c->capacity, (size_t)c->count + 1))
		return false;
	c->all[c->count++] = *more;
	hash_insert(&c->index, at, hash_of(more->function, more->file), c->count);
	return true;
}

uint64_t call_counts_get(const struct call_counts *c, uint32_t function, uint32_t file)
{
	if (!c->count)
		return 0;
	uint32_t id = c->index.slots[slot_of(c, function, file)];
	return id ? c->all[id - 1].calls : 0;
}
