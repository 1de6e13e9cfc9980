/* SPDX-License-Identifier: MIT */
/*
 * When time was spent: sparse cells (node, metric, bin) of nanoseconds and samples.
 *
 * This is the only place that keeps a node's own weight; the weight of a whole
 * run is the sum over its bins. There are at most CELLS_BINS bins. They start
 * at a millisecond and double in width whenever the run outgrows them, or when the
 * owner wants fewer cells. One thread at a time.
 *
 * A moment is one cell. An interval, which may cover thousands of bins, is two: where it
 * begins and where it ends.
 *
 *	bin        3     4     5     6        the time in bin n is the ns of its cell, and
 *	        |   ####|#####|##   |         the width of a bin for each interval that has
 *	rate      +1           -1             begun by then and not ended: the sum of the
 *	ns        -3           +2             rates of all cells up to n
 */
#pragma once

#include "base/hash.h"
#include "base/metric.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CELLS_BINS 4096

struct cell {
	uint64_t ns; /* modulo 2^64: less than 0 where an interval begins */
	uint32_t node;
	uint32_t samples;
	uint16_t bin;
	uint16_t metric;
	int32_t rate; /* intervals that begin here, less those that end */
};

struct cells {
	struct cell *cells;
	uint32_t count;
	size_t capacity;
	struct hash index;
	uint64_t origin_ns; /* where bin 0 begins; CLOCK_MONOTONIC */
	uint64_t width_ns;  /* of a bin */
	uint32_t last_bin;  /* that is in use */
};

bool cells_init(struct cells *c); /* false if there is no memory */
void cells_fini(struct cells *c);

/* The time from START_NS on, for DURATION_NS, and what it weighs. */
struct interval {
	uint64_t start_ns;
	uint64_t duration_ns; /* 0: a moment */
	uint64_t weight_ns;
	uint32_t samples;
};

/* Widens the bins until INTERVAL fits. Returns how many cells it needs at most. */
uint32_t cells_fit(struct cells *c, const struct interval *interval);

/*
 * Spreads INTERVAL evenly over its bins. False if there is no memory: then *MISSING_NS of it are
 * missing.
 */
bool cells_add(struct cells *c, uint32_t node, enum metric metric, const struct interval *interval,
               uint64_t *missing_ns);

/*
 * What CELL adds to the time of its node in the bins FIRST up to, but without, END. Only the
 * sum over all cells of a node and metric means something: one may be less than 0, modulo 2^64.
 */
static inline uint64_t cells_between(const struct cells *c, const struct cell *cell, uint32_t first,
                                     uint32_t end)
{
	uint32_t from = cell->bin > first ? cell->bin : first;
	uint64_t ns = cell->bin >= first && cell->bin < end ? cell->ns : 0;

	return from < end ? ns + (uint64_t)cell->rate * ((end - from) * c->width_ns) : ns;
}

/* The same for the whole run. */
static inline uint64_t cells_whole(const struct cells *c, const struct cell *cell)
{
	return cells_between(c, cell, 0, CELLS_BINS);
}

/* The same from FROM_NS to TO_NS since the origin: the time of a bin is even within it. */
double cells_within(const struct cells *c, const struct cell *cell, uint64_t from_ns,
                    uint64_t to_ns);

/* Adds CELL as it is, e.g. from a file. False if there is no memory. */
bool cells_put(struct cells *c, const struct cell *cell);

/* Doubles the width of the bins. */
void cells_widen(struct cells *c);

/* Doubles it until all cells lie in the first BINS, which is not 0. */
void cells_narrow_to(struct cells *c, uint32_t bins);

/* Moves each cell to the node MAP[node - 1]. */
void cells_move_nodes(struct cells *c, const uint32_t *map);
