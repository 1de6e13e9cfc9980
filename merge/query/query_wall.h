/* SPDX-License-Identifier: MIT */
/*
 * Wall time by what the end of the run waited for (merge/wall/wall.h), summed over all code, and
 * whether code is to be ranked by it.
 */
#pragma once

#include "base/metric.h"
#include "base/share.h"
#include "merge/scope/selection.h"

#include <stdbool.h>
#include <stdint.h>

struct error;
struct profile;
struct rows;

struct wall_account {
	uint64_t all_ns;           /* in the window; 0: not known */
	uint64_t ns[METRIC_COUNT]; /* by what those did that were waited for */
	uint64_t kernel_ns;        /* of ns[METRIC_ON_CPU] */
	/* Most of its waits that others may end are resolved, and code ranks differently by it than
	   by the time of all threads together, or other threads' work was a part of it. In a run of
	   one thread both are the same. */
	bool ranks;
};

/* Whose the wall time of a merged profile is: of the rank that works longest. */
struct wall_rank {
	uint32_t number;
	bool numbered; /* by a launcher; else it is the place among the files, from 0 */
};

/* False if it is not of a rank. */
bool query_wall_rank(const struct profile *p, struct wall_rank *rank);

/* Of QUERY's window; never RANKS where it asks for some threads alone, or for one kind of time. -1
   on error. */
int query_wall_account(const struct profile *p, const struct query *query,
                       struct wall_account *account, struct error *err);

/* What shares of ACCOUNT's wall time are of: all of it, or, where that is 5 % or more, without
   waiting for a free CPU, which may hit any code by chance. Then *WITHOUT_QUEUE becomes true. */
static inline uint64_t query_wall_share_ns(const struct wall_account *account, bool *without_queue)
{
	uint64_t waited = account->ns[METRIC_OFF_RUNNABLE];

	*without_queue = share_of(waited, account->all_ns) > 0.05;
	return account->all_ns - (*without_queue ? waited : 0);
}

/*
 * Whose the wall time of QUERY's window is: functions of the user's own (QUERY's user_code, if it
 * has one), or all functions of a program that has hardly any; its by, sort, of and filters by kind
 * of time are not looked at. Waits for a free CPU are in them: none of those is theirs. No rows
 * where wall time is not known. For rows_free(). NULL on error.
 */
struct rows *query_wall_owners(const struct profile *p, const struct query *query,
                               struct error *err);

/*
 * Half of the 95 % interval, in ns, of NS, of which samples have found that it is a part of ALL_NS,
 * whose length is known: Wilson's of the share, for as many samples as ALL_NS has at the mean
 * weight of a sample in the run. It says what sampling leaves open, not how runs differ. 0: without
 * samples.
 */
uint64_t query_sampling_margin(const struct profile *p, uint64_t ns, uint64_t all_ns);

/* The same of many parts: the mean weight of a sample in ns, 0 without samples, is asked for once,
   as it takes all cells to know it. */
double query_sampling_weight(const struct profile *p);
uint64_t query_weighted_margin(double weight_ns, uint64_t ns, uint64_t all_ns);

/* The wall time of the whole run: of the first thread, and what stood for it while it waited.
   0: it is not known. */
uint64_t query_wall_ns(const struct profile *p);
