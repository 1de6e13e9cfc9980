// SPDX-License-Identifier: MIT
#include "merge/table/cells.h"

#include "base/array.h"
#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

bool cells_init(struct cells *c)
{
	*c = (struct cells){ .width_ns = NS_PER_MS };
	return hash_init(&c->index, 1024);
}

void cells_fini(struct cells *c)
{
	free(c->cells);
	hash_fini(&c->index);
}

static uint64_t hash_of(const struct cell *cell)
{
	return hash_pair(cell->node, (uint64_t)cell->bin << 8 | cell->metric);
}

static bool same(const struct cell *a, const struct cell *b)
{
	return a->node == b->node && a->bin == b->bin && a->metric == b->metric;
}

static void increase(struct cell *cell, const struct cell *by)
{
	cell->ns += by->ns;
	cell->samples += by->samples;
	cell->rate = (int32_t)((uint32_t)cell->rate + (uint32_t)by->rate);
}

// The cell that equals CELL in its key, or NULL; and the slot where it is or would be.
static struct cell *find(const struct cells *c, const struct cell *cell, uint32_t *slot)
{
	uint64_t hashed = hash_of(cell);
	uint32_t at = hash_start(&c->index, hashed);

	while (c->index.slots[at] && !(hash_may_be(&c->index, at, hashed) &&
	                               same(&c->cells[c->index.slots[at] - 1], cell)))
		at = hash_next(&c->index, at);
	*slot = at;
	return c->index.slots[at] ? &c->cells[c->index.slots[at] - 1] : NULL;
}

bool cells_put(struct cells *c, const struct cell *cell)
{
	uint32_t slot;
	struct cell *known = find(c, cell, &slot);

	if (known) {
		increase(known, cell);
		return true;
	}
	if (hash_is_full(&c->index)) {
		if (!hash_make_room(&c->index))
			return false;
		find(c, cell, &slot);
	}
	if (!array_reserve(&c->cells, &c->capacity, (size_t)c->count + 1))
		return false;
	c->cells[c->count++] = *cell;
	hash_insert(&c->index, slot, hash_of(cell), c->count);
	if (cell->bin > c->last_bin)
		c->last_bin = cell->bin;
	return true;
}

// What CELL adds to the time up to TIME_NS since the origin.
static double upto(const struct cells *c, const struct cell *cell, uint64_t time_ns)
{
	uint64_t bin = time_ns / c->width_ns;

	if (bin >= CELLS_BINS)
		return (double)(int64_t)cells_whole(c, cell);
	uint32_t at = (uint32_t)bin;
	double part = (double)(time_ns % c->width_ns) / (double)c->width_ns;
	return (double)(int64_t)cells_between(c, cell, 0, at) +
	       part * (double)(int64_t)cells_between(c, cell, at, at + 1);
}

double cells_within(const struct cells *c, const struct cell *cell, uint64_t from_ns,
                    uint64_t to_ns)
{
	return upto(c, cell, to_ns) - upto(c, cell, from_ns);
}

static bool is_empty(const struct cell *cell)
{
	return !cell->ns && !cell->samples && !cell->rate;
}

// Puts every cell in again, in place: those whose keys have become equal are added up.
static void merge_equal(struct cells *c)
{
	uint32_t count = 0;

	hash_clear(&c->index);
	for (uint32_t i = 0; i < c->count; i++) {
		uint32_t slot;
		if (is_empty(&c->cells[i]))
			continue; // an interval has ended where the next began
		struct cell *known = find(c, &c->cells[i], &slot);
		if (known) {
			increase(known, &c->cells[i]);
			continue;
		}
		c->cells[count++] = c->cells[i];
		hash_insert(&c->index, slot, hash_of(&c->cells[count - 1]), count);
	}
	c->count = count;
}

// The bins are twice as wide; equal keys are still to be merged.
static void double_width(struct cells *c)
{
	for (uint32_t i = 0; i < c->count; i++) {
		struct cell *cell = &c->cells[i];
		// What begins in the second half is not worth the first.
		if (cell->bin % 2)
			cell->ns -= (uint64_t)cell->rate * c->width_ns;
		cell->bin /= 2;
	}
	c->last_bin /= 2;
	c->width_ns *= 2;
}

void cells_widen(struct cells *c)
{
	double_width(c);
	merge_equal(c);
}

void cells_narrow_to(struct cells *c, uint32_t bins)
{
	if (c->last_bin < bins)
		return;
	while (c->last_bin >= bins)
		double_width(c);
	merge_equal(c);
}

void cells_move_nodes(struct cells *c, const uint32_t *map)
{
	for (uint32_t i = 0; i < c->count; i++)
		c->cells[i].node = map[c->cells[i].node - 1];
	merge_equal(c);
}

// A damaged time must not widen the bins for ever: 146 years are enough.
#define TIME_MAX (UINT64_C(1) << 62)

// Time since the origin; what came before it counts as the beginning.
static uint64_t since_origin(const struct cells *c, uint64_t time_ns)
{
	uint64_t since = time_ns > c->origin_ns ? time_ns - c->origin_ns : 0;

	return since < TIME_MAX ? since : TIME_MAX;
}

static uint64_t end_of(const struct cells *c, const struct interval *interval)
{
	uint64_t start = since_origin(c, interval->start_ns);

	return interval->duration_ns < TIME_MAX - start ? start + interval->duration_ns : TIME_MAX;
}

// An interval that weighs what it lasts, as nearly all do, is worth the width of each bin in it.
static bool has_edges(const struct interval *interval, uint64_t start, uint64_t end)
{
	return interval->weight_ns == end - start && end > start;
}

uint32_t cells_fit(struct cells *c, const struct interval *interval)
{
	uint64_t start = since_origin(c, interval->start_ns);
	uint64_t end = end_of(c, interval);
	uint64_t last = end > start ? end - 1 : start;

	if (last / c->width_ns >= CELLS_BINS) {
		while (last / c->width_ns >= CELLS_BINS)
			double_width(c);
		merge_equal(c);
	}
	if (has_edges(interval, start, end))
		return 2;
	return (uint32_t)(last / c->width_ns - start / c->width_ns) + 1;
}

// PART of WHOLE as a share of WEIGHT, without overflow.
static uint64_t share(uint64_t weight, uint64_t part, uint64_t whole)
{
	return whole ? (uint64_t)((unsigned __int128)weight * part / whole) : weight;
}

static bool add_edges(struct cells *c, struct cell *cell, uint64_t start, uint64_t end)
{
	uint64_t width = c->width_ns;
	uint64_t first = start / width, last = (end - 1) / width;

	cell->bin = (uint16_t)first;
	if (first == last) {
		cell->ns = end - start;
		return cells_put(c, cell);
	}
	cell->ns = first * width - start;
	cell->rate = 1;
	if (!cells_put(c, cell))
		return false;
	struct cell stop = { end - last * width, cell->node, 0, (uint16_t)last, cell->metric, -1 };
	if (cells_put(c, &stop))
		return true;
	// It must not go on for ever. That cell is there, so this needs no memory.
	*cell = (struct cell){ -cell->ns, cell->node, -cell->samples, cell->bin, cell->metric, -1 };
	cells_put(c, cell);
	return false;
}

bool cells_add(struct cells *c, uint32_t node, enum metric metric, const struct interval *interval,
               uint64_t *missing_ns)
{
	struct cell cell = { .node = node,
		             .metric = (uint16_t)metric,
		             .samples = interval->samples };
	uint32_t spans = cells_fit(c, interval);
	uint64_t start = since_origin(c, interval->start_ns);
	uint64_t end = end_of(c, interval), spent = 0;

	*missing_ns = interval->weight_ns;
	if (has_edges(interval, start, end))
		return add_edges(c, &cell, start, end);
	for (uint32_t i = 0; i < spans; i++) {
		// Cut at the end of each bin, so that the parts add up to the whole.
		uint64_t until = (start / c->width_ns + i + 1) * c->width_ns - start;
		uint64_t upto = i + 1 < spans ? share(interval->weight_ns, until, end - start)
		                              : interval->weight_ns;
		cell.ns = upto - spent;
		cell.bin = (uint16_t)(start / c->width_ns + i);
		if (!cells_put(c, &cell))
			return false;
		cell.samples = 0;
		spent = upto;
		*missing_ns = interval->weight_ns - spent;
	}
	return true;
}
