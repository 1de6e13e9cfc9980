// SPDX-License-Identifier: MIT
// When time was spent: the cells of one part among those of the others, of threads and of GPUs.
#include "merge/join/merger_data.h"

#include <stdlib.h>

static int compare_cells(const void *a, const void *b, void *context)
{
	const struct cell *cells = context;
	const struct cell *left = &cells[*(const uint32_t *)a];
	const struct cell *right = &cells[*(const uint32_t *)b];

	if (left->node != right->node)
		return left->node < right->node ? -1 : 1;
	if (left->metric != right->metric)
		return left->metric < right->metric ? -1 : 1;
	return left->bin - right->bin;
}

// COUNT bins from FIRST on, in each of which NS was spent, or, of so many INTERVALS, all.
static bool put(struct merger *m, const struct merger_cells *c, const struct cell *cell,
                uint64_t first, uint64_t count, uint64_t ns, uint32_t samples)
{
	uint64_t width = c->from->width_ns;
	struct interval interval = {
		.start_ns = merger_time(m, c->from->origin_ns) + first * width,
		.duration_ns = count * width,
		.weight_ns = ns,
		.samples = samples,
	};

	if (ns != interval.duration_ns && width <= c->to->width_ns) {
		interval.start_ns += width / 2;
		interval.duration_ns = 0;
	}
	return c->add(m, cell, &interval);
}

// Whole bins, of intervals that have begun before and end later: one by one, or, where there are
// more of them than bins, a bin after the other.
static bool put_whole(struct merger *m, const struct merger_cells *c, const struct cell *cell,
                      uint64_t first, uint64_t count, uint64_t intervals)
{
	uint64_t width = c->from->width_ns;

	if (!count || !intervals)
		return true;
	for (uint64_t i = 0; intervals > count && i < count; i++)
		if (!put(m, c, cell, first + i, 1, intervals * width, 0))
			return false;
	for (uint64_t i = 0; intervals <= count && i < intervals; i++)
		if (!put(m, c, cell, first, count, count * width, 0))
			return false;
	return true;
}

// The cells of one node and metric, in order of their bins.
static bool add_row(struct merger *m, const struct merger_cells *c, const uint32_t *order,
                    uint32_t count)
{
	int64_t under_way = 0;
	uint64_t next = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct cell *cell = &c->from->cells[order[i]];
		if (!put_whole(m, c, cell, next, cell->bin - next, (uint64_t)under_way))
			return false;
		under_way += cell->rate;
		uint64_t ns = cell->ns + (uint64_t)under_way * c->from->width_ns;
		if ((ns || cell->samples) && !put(m, c, cell, cell->bin, 1, ns, cell->samples))
			return false;
		next = (uint64_t)cell->bin + 1;
	}
	return true;
}

bool merger_move_cells(struct merger *m, const struct merger_cells *c)
{
	const struct cells *from = c->from;
	cleanup_free uint32_t *order = calloc((size_t)from->count + 1, sizeof(*order));

	if (!order)
		return false;
	for (uint32_t i = 0; i < from->count; i++)
		order[i] = i;
	qsort_r(order, from->count, sizeof(*order), compare_cells, from->cells);
	for (uint32_t i = 0, end; i < from->count; i = end) {
		const struct cell *first = &from->cells[order[i]];
		for (end = i + 1; end < from->count; end++)
			if (from->cells[order[end]].node != first->node ||
			    from->cells[order[end]].metric != first->metric)
				break;
		if (!add_row(m, c, order + i, end - i))
			return false;
	}
	return true;
}

static bool add_of_threads(struct merger *m, const struct cell *cell,
                           const struct interval *interval)
{
	return profile_add_interval(m->profile, &m->nodes[cell->node - 1], cell->metric, interval);
}

bool merger_add_cells(struct merger *m)
{
	const struct merger_cells cells = { &m->part->cells, &m->profile->cells, add_of_threads };

	return merger_move_cells(m, &cells);
}
