/* SPDX-License-Identifier: MIT */
/*
 * Wall time by owner, as a profile keeps it: how long the end of the run waited for each path, in
 * bins, and who waited for whom. It is made by a struct wall while the run goes on. For merge/
 * alone.
 *
 * What the run's own thread did is in the profile's cells. Kept is what differs from that, so that
 * a program of one thread costs nothing:
 *
 *	cells = those of the run's thread - minus + plus
 */
#pragma once

#include "merge/table/cells.h"
#include "merge/table/paths.h"
#include "merge/wall/wall.h"

enum wall_table {
	WALL_BUSY_TIMES,
	WALL_ALONE_TIMES,
	WALL_EDGE_TIMES,
	WALL_TABLES
};

static inline enum wall_table wall_table_of(enum wall_series series)
{
	return series <= WALL_WANTED || series == WALL_READY ? WALL_BUSY_TIMES
	       : series == WALL_ALONE                        ? WALL_ALONE_TIMES
	                                                     : WALL_EDGE_TIMES;
}

struct wall_time {
	struct wall *live; /* while events come; NULL before, and of a profile that was read */
	uint32_t root;     /* slot of the run's thread; 0: nothing is known */
	uint32_t rank;     /* of a merged profile: all is of that rank (index + 1), and PLUS is all
	                      of its wall time, whatever its own thread did; else 0 */
	struct cells plus, minus; /* by node and metric */
	struct cells cells;       /* by node and what its thread did: made by wall_time_sum() */
	struct wall_edge *edges;  /* threads by their slots; by time, most first */
	size_t edge_count;
	struct wall_coverage coverage;
	struct wall_busy busy;
	struct wall_alone *alone; /* most time first */
	size_t alone_count;
	/* When that was, in few bins, by wall_table_of(); not of a profile that does not say it. By
	   threads at once and one, by node, by edge (the place in EDGES, from 1): metrics are
	   series of enum wall_series. */
	struct cells times[WALL_TABLES];
	bool has_times;
	double plus_rest_ns, minus_rest_ns; /* less than a whole nanosecond */
	uint64_t minus_ns[METRIC_COUNT];    /* of MINUS, at no node: waits of the run's thread
	                                       without a stack */
	uint64_t lost;                      /* parts that found no room */
};

bool wall_time_init(struct wall_time *t); /* false if there is no memory */
void wall_time_fini(struct wall_time *t);

/* Makes CELLS of OWN, all cells of the profile, whose tree is PATHS. False if there is no memory.
 */
bool wall_time_sum(struct wall_time *t, const struct cells *own, const struct paths *paths);

/* Node numbers have changed: MAP[node - 1]. */
void wall_time_move_nodes(struct wall_time *t, const uint32_t *map);
