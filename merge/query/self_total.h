/* SPDX-License-Identifier: MIT */
/*
 * Self and total of every key, recursion-safe, by one walk of the tree.
 *
 * A key that is entered while it is open on the path already counts once: its
 * total is what the walk added between the first entering and its leaving. For the
 * files of merge/ alone.
 */
#pragma once

#include "base/metric.h"
#include "merge/scope/keys.h"
#include "merge/scope/scope.h"

#include <stdint.h>

struct sums {
	uint64_t ns[METRIC_COUNT];
	uint64_t samples; /* of the metrics that were asked for */
	uint64_t on_cpu_samples;
};

struct tally {
	struct sums self, total;
	struct sums before; /* while it is open: what the walk had added before */
	uint32_t open;
};

/* The sum alone, of the metrics that were asked for: enough to choose a line. */
struct line_tally {
	uint64_t self, total, before;
	uint32_t open;
};

struct tallies {
	struct tally *keys;       /* [key id - 1] */
	struct line_tally *lines; /* [line id - 1] */
	uint32_t *line_keys;      /* [line id - 1]: a key that the line belongs to */
	struct sums all;
	uint64_t all_sum;
};

/* KEYS gets keys for threads, processes and what has no frame. -1 if there is no memory. */
int tallies_init(struct tallies *t, const struct scope *scope, struct keys *keys,
                 const struct query *query, struct error *err);
void tallies_fini(struct tallies *t);

static inline void tallies_at_scope_end(struct tallies *t)
{
	tallies_fini(t);
}
