// SPDX-License-Identifier: MIT
#include "sampler/unwind/address_space.h"

#include "base/array.h"
#include "base/hash.h"

#include <string.h>

struct address_space {
	struct mapping *mappings; // by start, without overlaps
	size_t count, capacity;
	size_t last; // index of the last hit
	uint64_t fingerprint;
};

struct address_space *address_space_new(void)
{
	return calloc(1, sizeof(struct address_space));
}

struct address_space *address_space_copy(const struct address_space *parent)
{
	cleanup(address_space) struct address_space *space = address_space_new();

	if (!space || !array_reserve(&space->mappings, &space->capacity, parent->count))
		return NULL;
	if (parent->count)
		memcpy(space->mappings, parent->mappings, parent->count * sizeof(*space->mappings));
	space->count = parent->count;
	space->fingerprint = parent->fingerprint;
	return steal(space);
}

void address_space_free(struct address_space *space)
{
	if (!space)
		return;
	free(space->mappings);
	free(space);
}

void address_space_clear(struct address_space *space)
{
	space->count = 0;
	space->last = 0;
	space->fingerprint = 0;
}

/* The first mapping that ends behind ADDRESS; COUNT if there is none. */
static size_t first_behind(const struct address_space *space, uint64_t address)
{
	return array_search(space->count, i, space->mappings[i].end <= address);
}

static void cut_front(struct mapping *mapping, uint64_t start)
{
	mapping->file_offset += start - mapping->start;
	mapping->start = start;
}

/* Makes [START, END) empty and returns the index where its mapping belongs. Room for one more
   mapping has been made. */
static size_t cut(struct address_space *space, uint64_t start, uint64_t end)
{
	struct mapping *m = space->mappings;
	size_t at = first_behind(space, start);

	if (at < space->count && m[at].start < start && m[at].end > end) {
		memmove(&m[at + 1], &m[at], (space->count - at) * sizeof(*m));
		space->count++;
		m[at].end = start;
		cut_front(&m[at + 1], end);
		return at + 1;
	}
	if (at < space->count && m[at].start < start)
		m[at++].end = start;

	size_t behind = at;
	while (behind < space->count && m[behind].end <= end)
		behind++;
	if (behind < space->count && m[behind].start < end)
		cut_front(&m[behind], end);
	memmove(&m[at], &m[behind], (space->count - behind) * sizeof(*m));
	space->count -= behind - at;
	return at;
}

static uint64_t end_of(uint64_t start, uint64_t length)
{
	return start + length < start ? UINT64_MAX : start + length;
}

bool address_space_unmap(struct address_space *space, uint64_t start, uint64_t length)
{
	uint64_t end = end_of(start, length);

	if (!length)
		return true;
	if (!array_reserve(&space->mappings, &space->capacity, space->count + 1))
		return false;

	cut(space, start, end);
	space->last = 0;
	space->fingerprint = hash_pair(hash_pair(space->fingerprint, start), end);
	return true;
}

bool address_space_map(struct address_space *space, uint64_t start, uint64_t length,
                       uint64_t file_offset, uint32_t module)
{
	uint64_t end = end_of(start, length);

	if (!length)
		return true;
	if (!array_reserve(&space->mappings, &space->capacity, space->count + 2))
		return false;

	size_t at = cut(space, start, end);
	memmove(&space->mappings[at + 1], &space->mappings[at],
	        (space->count - at) * sizeof(*space->mappings));
	space->mappings[at] = (struct mapping){
		.start = start, .end = end, .file_offset = file_offset, .module = module
	};
	space->count++;
	space->last = at;
	space->fingerprint = hash_pair(hash_pair(space->fingerprint ^ module, start),
	                               hash_pair(end, file_offset));
	return true;
}

struct mapping *address_space_find(struct address_space *space, uint64_t address)
{
	if (space->last < space->count) {
		struct mapping *last = &space->mappings[space->last];
		if (address >= last->start && address < last->end)
			return last;
	}

	size_t at = first_behind(space, address);
	if (at == space->count || address < space->mappings[at].start)
		return NULL;
	space->last = at;
	return &space->mappings[at];
}

void address_space_neighbours(struct address_space *space, uint64_t address,
                              struct mapping *neighbours[2])
{
	size_t at = first_behind(space, address);

	neighbours[0] = at ? &space->mappings[at - 1] : NULL;
	if (at < space->count && space->mappings[at].start <= address)
		at++;
	neighbours[1] = at < space->count ? &space->mappings[at] : NULL;
}

size_t address_space_count(const struct address_space *space)
{
	return space->count;
}

uint64_t address_space_fingerprint(const struct address_space *space)
{
	return space->fingerprint;
}
