// SPDX-License-Identifier: MIT
#include "merge/table/locations.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

bool locations_init(struct locations *l)
{
	*l = (struct locations){ 0 };
	return hash_init(&l->index, 1024);
}

void locations_fini(struct locations *l)
{
	free(l->locations);
	free(l->places);
	hash_fini(&l->index);
}

static uint64_t hash_of(uint64_t address, uint32_t module, uint32_t kind)
{
	return hash_pair(address, (uint64_t)module << 8 | kind);
}

static uint32_t free_slot(const struct locations *l, uint64_t hash)
{
	uint32_t at = hash_start(&l->index, hash);

	while (l->index.slots[at])
		at = hash_next(&l->index, at);
	return at;
}

static uint32_t append(struct locations *l, struct frame frame, uint64_t hash)
{
	if (!hash_make_room(&l->index))
		return 0;
	if (!array_reserve(&l->locations, &l->capacity, (size_t)l->count + 1))
		return 0;
	// There is nothing to look up about a mark, an op, or a Python function.
	bool named = frame.kind == FRAME_MARK || frame.kind == FRAME_OP ||
	             frame.kind == FRAME_PYTHON || frame.kind == FRAME_MODULE;
	l->locations[l->count++] = (struct location){
		.address = frame.address,
		.module = frame.module,
		.kind = (uint8_t)frame.kind,
		.named = named,
	};
	l->unnamed += !named;
	hash_insert(&l->index, free_slot(l, hash), hash, l->count);
	return l->count;
}

// One location, whatever stands for the mark or the op.
static struct frame normal(struct frame frame)
{
	if (frame.kind == FRAME_OP || (frame.kind == FRAME_MARK && frame.address != MARK_SHORT))
		frame.module = 0;
	return frame;
}

static uint32_t find(const struct locations *l, struct frame frame, uint64_t hash)
{
	for (uint32_t at = hash_start(&l->index, hash); l->index.slots[at];
	     at = hash_next(&l->index, at)) {
		const struct location *known = locations_get(l, l->index.slots[at]);
		if (known->address == frame.address && known->module == frame.module &&
		    known->kind == frame.kind)
			return l->index.slots[at];
	}
	return 0;
}

uint32_t locations_find(const struct locations *l, struct frame frame)
{
	frame = normal(frame);
	return find(l, frame, hash_of(frame.address, frame.module, frame.kind));
}

uint32_t locations_add(struct locations *l, struct frame frame)
{
	frame = normal(frame);
	uint64_t hash = hash_of(frame.address, frame.module, frame.kind);
	uint32_t known = find(l, frame, hash);

	return known ? known : append(l, frame, hash);
}

bool locations_name(struct locations *l, uint32_t id, const struct place *places, uint32_t count)
{
	struct location *location = &l->locations[id - 1];

	if (count > UINT16_MAX)
		count = UINT16_MAX;
	if (count && !array_reserve(&l->places, &l->place_capacity, (size_t)l->place_count + count))
		return false;
	if (count)
		memcpy(l->places + l->place_count, places, count * sizeof(*places));
	location->first_place = l->place_count;
	location->place_count = (uint16_t)count;
	l->place_count += count;
	l->unnamed -= !location->named;
	location->named = true;
	return true;
}

void locations_drop(struct locations *l, const bool *kept, uint32_t *map)
{
	uint32_t count = 0, asked = 0;

	l->unnamed = 0;
	for (uint32_t i = 0; i < l->count; i++) {
		map[i] = 0;
		if (!kept[i])
			continue;
		l->locations[count++] = l->locations[i];
		map[i] = count;
		l->unnamed += !l->locations[i].named;
		asked += i < l->asked;
	}
	l->count = count;
	l->asked = asked;
	hash_clear(&l->index);
	for (uint32_t id = 1; id <= count; id++) {
		const struct location *location = &l->locations[id - 1];
		uint64_t hash = hash_of(location->address, location->module, location->kind);
		hash_insert(&l->index, free_slot(l, hash), hash, id);
	}
}
