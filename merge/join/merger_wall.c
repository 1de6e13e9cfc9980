// SPDX-License-Identifier: MIT
// Wall time by owner: that of the one rank which works longest, as the others wait for it.
#include "merge/join/merger_data.h"

#include <stdlib.h>

static bool add_time(struct merger *m, struct cells *to, const struct cell *cell, uint32_t key,
                     const struct interval *interval)
{
	return profile_add_gpu_interval(m->profile, to, key, cell->metric, interval);
}

static bool add_of_wall(struct merger *m, const struct cell *cell, const struct interval *interval)
{
	return add_time(m, &m->profile->wall_time.plus, cell, m->nodes[cell->node - 1], interval);
}

static bool add_of_busy(struct merger *m, const struct cell *cell, const struct interval *interval)
{
	return add_time(m, &m->profile->wall_time.times[WALL_BUSY_TIMES], cell, cell->node,
	                interval);
}

static bool add_of_alone(struct merger *m, const struct cell *cell, const struct interval *interval)
{
	return add_time(m, &m->profile->wall_time.times[WALL_ALONE_TIMES], cell,
	                m->nodes[cell->node - 1], interval);
}

static bool add_of_edges(struct merger *m, const struct cell *cell, const struct interval *interval)
{
	return add_time(m, &m->profile->wall_time.times[WALL_EDGE_TIMES], cell, cell->node,
	                interval);
}

static bool move_times(struct merger *m)
{
	const struct wall_time *from = &m->part->wall_time;
	struct wall_time *to = &m->profile->wall_time;
	const struct merger_cells tables[] = {
		{ &from->cells, &to->plus, add_of_wall },
		{ &from->times[WALL_BUSY_TIMES], &to->times[WALL_BUSY_TIMES], add_of_busy },
		{ &from->times[WALL_ALONE_TIMES], &to->times[WALL_ALONE_TIMES], add_of_alone },
		{ &from->times[WALL_EDGE_TIMES], &to->times[WALL_EDGE_TIMES], add_of_edges },
	};

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		struct cells *cells = (struct cells *)tables[i].to;
		cells->width_ns = tables[i].from->width_ns;
		if (tables[i].from->count && !merger_move_cells(m, &tables[i]))
			return false;
	}
	to->has_times = from->has_times;
	return true;
}

static bool move_edges(struct merger *m)
{
	const struct wall_time *from = &m->part->wall_time;
	struct wall_time *to = &m->profile->wall_time;

	to->edges = calloc(from->edge_count + 1, sizeof(*to->edges));
	if (!to->edges)
		return false;
	for (size_t i = 0; i < from->edge_count; i++) {
		struct wall_edge *e = &to->edges[to->edge_count++];
		*e = from->edges[i];
		e->waiter = merger_number(m->threads, e->waiter);
		e->holder = merger_number(m->threads, e->holder);
		e->waiter_node = merger_number(m->nodes, e->waiter_node);
		e->holder_node = merger_number(m->nodes, e->holder_node);
		e->module = merger_number(m->modules, e->module);
		e->made.module = merger_number(m->modules, e->made.module);
		if (!merger_text(m, e->name, &e->name) || !merger_text(m, e->file, &e->file))
			return false;
	}
	return true;
}

static bool move_alone(struct merger *m)
{
	const struct wall_time *from = &m->part->wall_time;
	struct wall_time *to = &m->profile->wall_time;

	to->busy = from->busy;
	to->alone = calloc(from->alone_count + 1, sizeof(*to->alone));
	for (size_t i = 0; to->alone && i < from->alone_count; i++)
		to->alone[to->alone_count++] =
			(struct wall_alone){ m->nodes[from->alone[i].node - 1], from->alone[i].ns };
	return to->alone != NULL;
}

/*
 * The last rank to come to a collective is who the others wait for: by and large who works longest
 * outside of MPI. Of that one alone the wall time is kept, and nothing where it has none.
 */
bool merger_add_wall(struct merger *m, uint32_t before)
{
	const struct wall_time *from = &m->part->wall_time;
	struct wall_time *to = &m->profile->wall_time;
	uint32_t rank = before + (from->rank ? from->rank : 1);
	const struct rank_info *info = &m->profile->ranks.ranks[rank - 1];

	if (m->part->ranks.count && !from->rank)
		return true; // of none of its ranks it is known
	if (before && info->busy_ns <= m->wall_busy_ns)
		return true;
	m->wall_busy_ns = info->busy_ns;
	wall_time_fini(to);
	if (!from->root)
		return true;
	if (!wall_time_init(to))
		return false;
	to->rank = rank;
	to->root = m->threads[from->root - 1];
	to->coverage = from->coverage;
	to->lost = from->lost;
	return move_times(m) && move_edges(m) && move_alone(m);
}
