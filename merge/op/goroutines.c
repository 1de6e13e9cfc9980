// SPDX-License-Identifier: MIT
#include "merge/op/goroutines.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

void goroutines_fini(struct goroutines *g)
{
	free(g->starts);
	free(g->rows);
	free(g->frames);
	hash_fini(&g->start_index);
	hash_fini(&g->row_index);
	goroutine_looks_fini(&g->looks);
	*g = (struct goroutines){ 0 };
}

static bool is_same(const struct frame *a, const struct frame *b)
{
	return a->address == b->address && a->module == b->module && a->kind == b->kind;
}

static bool make_room(struct hash *index)
{
	return (index->slots || hash_init(index, 64)) && hash_make_room(index);
}

// Its number, from 1 on; 0: no memory.
static uint32_t add_start(struct goroutines *g, const struct frame *frame)
{
	uint64_t hash = hash_pair(frame->module, frame->address);
	uint32_t at;

	if (!make_room(&g->start_index))
		return 0;
	for (at = hash_start(&g->start_index, hash); g->start_index.slots[at];
	     at = hash_next(&g->start_index, at))
		if (is_same(&g->starts[g->start_index.slots[at] - 1].frame, frame))
			return g->start_index.slots[at];
	if (g->start_count == GOROUTINES_MAX ||
	    !array_reserve(&g->starts, &g->start_capacity, g->start_count + 1))
		return 0;
	g->starts[g->start_count++] = (struct goroutine_start){ .frame = *frame };
	hash_insert(&g->start_index, at, hash, (uint32_t)g->start_count);
	return (uint32_t)g->start_count;
}

static bool is_row(const struct goroutines *g, const struct goroutine_row *row,
                   const struct goroutine_row *wanted, const struct frame *frames)
{
	if (row->start != wanted->start || row->state != wanted->state ||
	    row->reason != wanted->reason || row->count != wanted->count)
		return false;
	for (uint32_t i = 0; i < row->count; i++)
		if (!is_same(&g->frames[row->first + i], &frames[i]))
			return false;
	return true;
}

static struct goroutine_row *add_row(struct goroutines *g, const struct goroutine_row *wanted,
                                     const struct frame *frames)
{
	uint64_t hash = hash_pair(hash_pair(wanted->start, wanted->state), wanted->reason);
	uint32_t at;

	for (uint32_t i = 0; i < wanted->count; i++)
		hash = hash_pair(hash, hash_pair(frames[i].module, frames[i].address));
	if (!make_room(&g->row_index))
		return NULL;
	for (at = hash_start(&g->row_index, hash); g->row_index.slots[at];
	     at = hash_next(&g->row_index, at))
		if (is_row(g, &g->rows[g->row_index.slots[at] - 1], wanted, frames))
			return &g->rows[g->row_index.slots[at] - 1];
	if (g->row_count >= GOROUTINES_MAX && wanted->count) {
		// There are too many places: it counts as seen at none.
		const struct goroutine_row nowhere = { .start = wanted->start,
			                               .state = wanted->state,
			                               .reason = wanted->reason };
		return add_row(g, &nowhere, NULL);
	}
	if (!array_reserve(&g->rows, &g->row_capacity, g->row_count + 1) ||
	    !array_reserve(&g->frames, &g->frame_capacity, g->frame_count + wanted->count))
		return NULL;
	struct goroutine_row *row = &g->rows[g->row_count++];
	*row = *wanted;
	row->first = (uint32_t)g->frame_count;
	for (uint32_t i = 0; i < wanted->count; i++)
		g->frames[g->frame_count++] = frames[i];
	hash_insert(&g->row_index, at, hash, (uint32_t)g->row_count);
	return row;
}

bool goroutines_add(struct goroutines *g, const struct goroutines_event *event, uint32_t reason)
{
	uint32_t number = add_start(g, &event->start);

	if (!number)
		return false;
	struct goroutine_start *start = &g->starts[number - 1];
	if (start->pass != event->pass)
		start->now = 0;
	start->pass = event->pass;
	start->now += event->count;
	if (start->now > start->most)
		start->most = start->now;
	const struct goroutine_row wanted = { .start = number - 1,
		                              .state = (uint32_t)event->state,
		                              .reason = reason,
		                              .count = event->frame_count };
	struct goroutine_row *row = add_row(g, &wanted, event->frames);
	if (!row || !event->count)
		return row != NULL;
	row->ns += event->ns;
	return goroutine_looks_add(&g->looks, event->process, event->pass,
	                           (uint32_t)(row - g->rows), event->count,
	                           event->ns / event->count);
}
