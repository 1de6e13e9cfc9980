/* SPDX-License-Identifier: MIT */
/*
 * Questions about repeated runs (merge/profile/repeats.h): each side by itself, and one against
 * another.
 */
#pragma once

#include "base/cleanup.h"
#include "merge/numbers/spread.h"
#include "merge/profile/repeats.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct profile;

/* What is measured of a run: ns, or bytes. */
enum repeat_metric {
	REPEAT_WALL,
	REPEAT_USER,
	REPEAT_SYSTEM,
	REPEAT_PEAK_RSS,
	REPEAT_CALL, /* of the range: the median of its calls; of a statement, with parts of a ns */
	REPEAT_METRICS
};

struct repeat_row {
	const char *command; /* the profile's, as range */
	const char *range;   /* NULL: whole runs */
	enum repeat_language language;
	uint32_t threads;            /* of its libraries; of a command 0: not told */
	const char *setup, *variant; /* the same; NULL: none */
	uint32_t runs;               /* those of the side that succeeded: what the spreads are of */
	uint32_t failed;             /* and those that did not */
	uint64_t calls;              /* of the range, in all runs */
	uint64_t cost_ns;            /* the median of those of the runs */
	enum repeat_cost cost;       /* the least that is known of all runs */
	bool slow_first;             /* the first took far longer than the others */
	double first; /* of the metric that matters: the range's calls, or wall time */
	struct spread spread[REPEAT_METRICS];
};

struct repeat_rows {
	struct repeat_row *rows; /* [side - 1] */
	size_t count;
};

/* Whether P is of such runs, and of nothing else. */
bool profile_has_repeats(const struct profile *p);

/* No rows if the profile is of no such runs. NULL on error. */
struct repeat_rows *query_repeats(const struct profile *p, struct error *err);
void repeat_rows_free(struct repeat_rows *rows);

CLEANUP(repeat_rows, struct repeat_rows *, repeat_rows_free)

/* The metric that ROW is about. */
static inline enum repeat_metric repeat_metric_of(const struct repeat_row *row)
{
	return row->range || row->language ? REPEAT_CALL : REPEAT_WALL;
}

/*
 * The values of METRIC in the runs of SIDE (from 1) that succeeded, in their order, fresh; their
 * number in *COUNT. NULL on error.
 */
double *query_repeat_values(const struct profile *p, uint32_t side, enum repeat_metric metric,
                            size_t *count, struct error *err);

/* All runs, in the order in which they ran; their number in *COUNT. P's own. */
const struct repeat *query_repeat_runs(const struct profile *p, size_t *count);

/*
 * How much longer OTHER took than BASE, each by the metric that it is about: the quotients of the
 * first run of each, the second, and so on, which ran beside each other, so that what disturbed one
 * of them disturbed both.
 */
int query_repeat_ratio(const struct profile *p, uint32_t base, uint32_t other, struct spread *ratio,
                       struct error *err);
