/* SPDX-License-Identifier: MIT */
/*
 * Self and total of every key, recursion-safe, by one walk of the tree.
 *
 * A key that is entered while it is open on the path already counts once: its
 * total is what the walk added between the first entering and its leaving. For the
 * files of merge/ alone.
 *
 * The sums own their arrays, or borrow them; nobody writes into them. Keys and lines are known by
 * their ids in KEYS, which gets no more of them as long as the sums are used. One thread at a time.
 */
#pragma once

#include "base/metric.h"
#include "merge/scope/keys.h"
#include "merge/scope/scope.h"

#include <stdint.h>

struct sums {
	uint64_t ns[METRIC_COUNT]; /* all time, whatever was asked for */
	uint64_t counted;          /* of that, what was asked for: see scope_counts() */
	uint64_t samples;          /* of that, too */
	uint64_t on_cpu_samples;
};

struct self_total {
	struct sums self, total;
	struct sums before; /* while it is open: what the walk had added before */
	uint32_t open;
};

/* What was asked for alone: enough to choose a line. */
struct line_total {
	uint64_t self, total, before;
	uint32_t open;
};

struct self_totals {
	struct self_total *keys;  /* [key id - 1] */
	struct line_total *lines; /* [line id - 1] */
	uint32_t *line_keys;      /* [line id - 1]: a key that the line belongs to */
	struct sums all;
	bool borrowed; /* the arrays are kept for all that ask the same: merge/scope/kept.h */
};

/* KEYS gets keys for threads, processes and what has no frame. -1 if there is no memory. */
int self_totals_init(struct self_totals *t, const struct scope *scope, struct keys *keys,
                     const struct query *query, struct error *err);
void self_totals_fini(struct self_totals *t);

static inline void self_totals_at_scope_end(struct self_totals *t)
{
	self_totals_fini(t);
}
