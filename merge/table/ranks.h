/* SPDX-License-Identifier: MIT */
/*
 * What a merged profile keeps of each profile that is in it: who it was, what it did with its time,
 * and in which functions.
 *
 * Times are sums over all of its threads. A function that
 * had less than RANK_SHARE_LEAST of its rank's time, or is not among its RANK_SHARES first, is not
 * kept. For the files of merge/ alone.
 */
#pragma once

#include "merge/table/meetings.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RANKS_MAX        (1u << 20)
#define RANK_SHARES      32
#define RANK_SHARE_LEAST 0.01

struct rank_info {
	uint32_t number;   /* of the launcher; or, if it had none, the place among the files */
	bool numbered;     /* it had one */
	uint32_t host;     /* string; 0: unknown */
	uint32_t command;  /* string */
	int exit_status;   /* wait(2) */
	uint64_t start_ns; /* since the start of the first */
	uint64_t wall_ns;
	uint64_t busy_ns;     /* on a CPU, outside of MPI */
	uint64_t mpi_busy_ns; /* on a CPU in calls of MPI: mostly turning round while others work */
	uint64_t mpi_wait_ns; /* waiting in them */
	uint64_t wait_ns;     /* waiting for anything else, but for a free CPU */
	uint64_t samples;
	uint64_t steps; /* as far as there are any, merge/query/query_steps.h */
	uint64_t step_median_ns, step_sum_ns;
	uint64_t meetings; /* that its clock was compared at with that of the first rank */
	int64_t ahead_ns;  /* that its clock was then; of other hosts than the first one's that of
	                      their first rank was taken off its times */
	uint64_t residual_ns; /* that the ends of its meetings differ by from that: the median */
};

/* What a rank has spent in a function itself. */
struct rank_share {
	uint32_t rank;             /* index + 1 */
	uint32_t function, module; /* strings; a module may be 0 */
	uint64_t busy_ns, wait_ns;
};

struct ranks {
	struct rank_info *ranks;
	uint32_t count;
	size_t capacity;
	struct rank_share *shares; /* by rank */
	uint32_t share_count;
	size_t share_capacity;
	struct meetings meetings; /* of all ranks */
};

void ranks_fini(struct ranks *r);

/* False if there is no room. */
bool ranks_add(struct ranks *r, const struct rank_info *info);
bool ranks_add_share(struct ranks *r, const struct rank_share *share);
