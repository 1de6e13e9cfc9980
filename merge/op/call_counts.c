// SPDX-License-Identifier: MIT
#include "merge/op/call_counts.h"

#include "base/array.h"

#include <stdlib.h>

// Without the line: all of one name and file lie in one run of the index.
static uint64_t hash_of(uint32_t function, uint32_t file)
{
	return hash_pair(function, file);
}

void call_counts_fini(struct call_counts *c)
{
	free(c->all);
	free(c->edges);
	hash_fini(&c->index);
	hash_fini(&c->edge_index);
	*c = (struct call_counts){ 0 };
}

static bool is_named(const struct call_count *c, uint32_t function, uint32_t file)
{
	return c->function == function && c->file == file;
}

// Its slot, or the one where it belongs.
static uint32_t slot_of(const struct call_counts *c, uint32_t function, uint32_t file,
                        uint32_t line)
{
	uint32_t at = hash_start(&c->index, hash_of(function, file));

	for (; c->index.slots[at]; at = hash_next(&c->index, at)) {
		const struct call_count *known = &c->all[c->index.slots[at] - 1];
		if (is_named(known, function, file) && known->line == line)
			break;
	}
	return at;
}

uint32_t call_counts_add(struct call_counts *c, const struct call_count *more)
{
	if (!c->index.slots && !hash_init(&c->index, 256))
		return 0;
	if (!hash_make_room(&c->index))
		return 0;
	uint32_t at = slot_of(c, more->function, more->file, more->line);
	uint32_t id = c->index.slots[at];
	if (id) {
		c->all[id - 1].calls += more->calls;
		c->all[id - 1].recursive += more->recursive;
		return id;
	}
	if (c->count == CALL_COUNTS_MAX ||
	    !array_reserve(&c->all, &c->capacity, (size_t)c->count + 1))
		return 0;
	c->all[c->count++] = *more;
	hash_insert(&c->index, at, hash_of(more->function, more->file), c->count);
	return c->count;
}

static uint32_t edge_slot(const struct call_counts *c, const struct call_edge *of, uint64_t hash)
{
	uint32_t at = hash_start(&c->edge_index, hash);

	for (; c->edge_index.slots[at]; at = hash_next(&c->edge_index, at)) {
		const struct call_edge *known = &c->edges[c->edge_index.slots[at] - 1];
		if (known->caller == of->caller && known->callee == of->callee)
			break;
	}
	return at;
}

bool call_counts_add_edge(struct call_counts *c, const struct call_edge *more)
{
	uint64_t hash = hash_pair(more->caller, more->callee);

	if (!c->edge_index.slots && !hash_init(&c->edge_index, 256))
		return false;
	if (!hash_make_room(&c->edge_index))
		return false;
	uint32_t at = edge_slot(c, more, hash), id = c->edge_index.slots[at];
	if (id) {
		c->edges[id - 1].calls += more->calls;
		c->edges[id - 1].recursive += more->recursive;
		return true;
	}
	if (c->edge_count == CALL_EDGES_MAX ||
	    !array_reserve(&c->edges, &c->edge_capacity, (size_t)c->edge_count + 1))
		return false;
	c->edges[c->edge_count++] = *more;
	hash_insert(&c->edge_index, at, hash, c->edge_count);
	return true;
}

uint32_t call_counts_find_edge(const struct call_counts *c, uint32_t caller, uint32_t callee)
{
	const struct call_edge of = { .caller = caller, .callee = callee };

	return c->edge_count ? c->edge_index.slots[edge_slot(c, &of, hash_pair(caller, callee))]
	                     : 0;
}

uint32_t call_counts_find(const struct call_counts *c, uint32_t function, uint32_t file,
                          uint32_t line)
{
	return c->count ? c->index.slots[slot_of(c, function, file, line)] : 0;
}

struct call_count call_counts_get(const struct call_counts *c, uint32_t function, uint32_t file)
{
	struct call_count sum = { .function = function, .file = file };

	if (!c->count)
		return sum;
	uint32_t at = hash_start(&c->index, hash_of(function, file));
	for (; c->index.slots[at]; at = hash_next(&c->index, at)) {
		const struct call_count *known = &c->all[c->index.slots[at] - 1];
		if (!is_named(known, function, file))
			continue;
		sum.calls += known->calls;
		sum.recursive += known->recursive;
	}
	return sum;
}
