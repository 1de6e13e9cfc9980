/* SPDX-License-Identifier: MIT */
/*
 * What each thread and each GPU did, when: in bins over the whole run.
 *
 * A lane's bins hold the time of each metric in them, or of each state of a GPU (enum gpu_state):
 * both are sums, so that a bin of a lane that stands for several threads may hold more than its
 * width. The answer borrows its texts from the profile, which must outlive it.
 */
#pragma once

#include "base/cleanup.h"
#include "merge/query/query.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

struct timeline_lane {
	const char *thread, *process; /* names; of a GPU its own one, and "", or its rank */
	uint32_t tid, pid;            /* of a GPU its number, and 0 */
	uint32_t device;              /* of a GPU, from 1: several may have one number */
	uint32_t merged;              /* threads that this is; 1 if it is kept apart */
	bool gpu;
	uint64_t begin_ns, end_ns; /* of its life, since the start of the run */
	uint64_t on_cpu_ns;        /* of all bins; of a GPU: when it was busy */
	uint64_t *ns;              /* [metric, or state, * bins + bin] */
	uint32_t bins;
	uint64_t bin_ns;
	int64_t origin_ns; /* where the first bin begins, since the start of the run */
};

struct timeline {
	struct timeline_lane
		*lanes; /* GPUs last, threads by process and in the order of their start */
	size_t count;
	size_t left_out; /* threads that had less time on a CPU than those that are shown */
};

/* At most BINS_MAX bins, and the LANES_MAX busiest of the threads that QUERY asks for. NULL on
   error. */
struct timeline *query_timeline(const struct profile *p, const struct query *query,
                                uint32_t bins_max, size_t lanes_max, struct error *err);
void timeline_free(struct timeline *t);

CLEANUP(timeline, struct timeline *, timeline_free)
