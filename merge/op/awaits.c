// SPDX-License-Identifier: MIT
#include "merge/op/awaits.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

void awaits_fini(struct awaits *a)
{
	free(a->rows);
	free(a->places);
	hash_fini(&a->index);
	*a = (struct awaits){ 0 };
}

static uint64_t hash_of(uint32_t kind, const struct await_place *places, uint32_t count)
{
	uint64_t hash = hash_mix(kind);

	for (uint32_t i = 0; i < count; i++)
		hash = hash_pair(hash_pair(hash, places[i].function),
		                 hash_pair(places[i].file, places[i].line));
	return hash;
}

// Its slot, or the one where it belongs.
static uint32_t slot_of(const struct awaits *a, uint32_t kind, const struct await_place *places,
                        uint32_t count, uint64_t hash)
{
	uint32_t at = hash_start(&a->index, hash);

	for (; a->index.slots[at]; at = hash_next(&a->index, at)) {
		const struct await_row *row = &a->rows[a->index.slots[at] - 1];
		if (row->kind == kind && row->place_count == count &&
		    memcmp(&a->places[row->first], places, count * sizeof(*places)) == 0)
			break;
	}
	return at;
}

static uint64_t sum(uint64_t a, uint64_t b)
{
	return a + b > INT64_MAX || a + b < a ? INT64_MAX : a + b;
}

bool awaits_add(struct awaits *a, const struct await_row *more, const struct await_place *places)
{
	uint32_t count = more->place_count;
	uint64_t hash = hash_of(more->kind, places, count);

	if ((!a->index.slots && !hash_init(&a->index, 256)) || !hash_make_room(&a->index))
		return false;
	uint32_t at = slot_of(a, more->kind, places, count, hash), id = a->index.slots[at];
	if (!id) {
		if (a->count == AWAITS_MAX ||
		    !array_reserve(&a->rows, &a->capacity, a->count + 1) ||
		    !array_reserve(&a->places, &a->place_capacity, a->place_count + count))
			return false;
		memcpy(&a->places[a->place_count], places, count * sizeof(*places));
		a->rows[a->count++] = (struct await_row){
			.kind = more->kind,
			.first = (uint32_t)a->place_count,
			.place_count = count,
		};
		a->place_count += count;
		id = (uint32_t)a->count;
		hash_insert(&a->index, at, hash, id);
	}
	struct await_row *row = &a->rows[id - 1];
	row->count = sum(row->count, more->count);
	row->ns = sum(row->ns, more->ns);
	if (more->longest_ns > row->longest_ns)
		row->longest_ns = more->longest_ns;
	return true;
}

const struct await_row *awaits_find(const struct awaits *a, uint32_t kind,
                                    const struct await_place *places, uint32_t place_count)
{
	uint32_t id = a->count ? a->index.slots[slot_of(a, kind, places, place_count,
	                                                hash_of(kind, places, place_count))]
	                       : 0;

	return id ? &a->rows[id - 1] : NULL;
}
