// SPDX-License-Identifier: MIT
// The times of a whole run, or of the window that is compared: how long it took, what the critical
// thread waited for, how long it took to start and to warm up, and how long one step took.
#include "merge/diff/diff_items.h"

#include "base/clock.h"
#include "base/error.h"
#include "merge/query/query_repeats.h"
#include "merge/query/query_startup.h"
#include "merge/query/query_steps.h"
#include "merge/query/query_wall.h"
#include "merge/query/query_warmup.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define WAITS_VARY     0.5   /* waits for others, as a standard deviation of 1 */
#define READY_VARIES   0.05  /* the same of waits for a CPU, whoever was waited for */
#define START_VARIES   0.05  /* the same of start-up: files are in memory, or not */
#define MEDIAN_ERROR   0.929 /* of a median: so much of the quartiles' distance, by root of n */
#define PHASE_EXACT_NS 2e6   /* to which the ends of phases are known, by samples */

static int add(struct diff_items *items, const char *name, double ns, double deviation,
               struct error *err)
{
	struct diff_item *item = ns > 0 ? diff_items_add(items, name, NULL, NULL) : NULL;

	if (ns <= 0)
		return 0;
	if (!item)
		return error_set(err, ENOMEM, "could not compare the profiles");
	item->ns = ns;
	item->variance = deviation * deviation;
	item->exact = true;
	return 0;
}

// A phase of the run, which a rule has found.
static int add_phase(struct diff_items *items, const char *name, double ns, double deviation,
                     struct error *err)
{
	size_t before = items->count;
	int failed = add(items, name, ns, deviation, err);

	if (items->count > before)
		items->items[before].found = items->items[before].by_clock = true;
	return failed;
}

static double wall_of(const struct diff_part *part)
{
	double wall = (double)profile_run(part->profile)->wall_ns;
	double end = part->query.to_ns && (double)part->query.to_ns < wall
	                     ? (double)part->query.to_ns
	                     : wall;

	return end > (double)part->query.from_ns ? end - (double)part->query.from_ns : 0;
}

// Of one thread in the window, or of what the end of the run waited for: then what kept another one
// from a CPU that it waited for is in it, and waits for others are not.
static int find_account(const struct diff_items *items, const struct diff_part *part,
                        struct account *account, struct error *err)
{
	const struct query window = { .from_ns = part->query.from_ns, .to_ns = part->query.to_ns };
	struct wall_account wall;

	if (query_account_in(part->profile, window.from_ns, window.to_ns, account, err) < 0)
		return -1;
	if (!items->by_wall)
		return 0;
	if (query_wall_account(part->profile, &window, &wall, err) < 0)
		return -1;
	memcpy(account->ns, wall.ns, sizeof(account->ns));
	return 0;
}

// Waiting for a free CPU is the doing of others, unless the threads of the program outnumber them.
static int add_account(struct diff_items *items, const struct diff_part *part, struct error *err)
{
	struct account account;
	char name[64];

	if (find_account(items, part, &account, err) < 0)
		return -1;
	double wall = wall_of(part), runnable = (double)account.ns[METRIC_OFF_RUNNABLE];
	items->all_ns = wall;
	if (add(items, "wall time", wall, runnable, err) < 0 ||
	    add(items, "wall time, with a CPU of its own", wall - runnable,
	        items->by_wall ? READY_VARIES * runnable : 0, err) < 0)
		return -1;
	for (int m = METRIC_ON_CPU + 1; m < METRIC_COUNT; m++) {
		bool own = m == METRIC_OFF_SLEEP || m == METRIC_OFF_CHILD;
		double ns = (double)account.ns[m];
		size_t before = items->count;
		if (m == METRIC_OFF_SLEEP)
			snprintf(name, sizeof(name), "sleeping");
		else
			snprintf(name, sizeof(name), "waiting for %s", metric_name((enum metric)m));
		if (add(items, name, ns, own ? items->noise.wake_ns : WAITS_VARY * ns, err) < 0)
			return -1;
		// That runs which were repeated had as much of it by chance is no rule.
		if (items->count > before)
			items->items[before].counted = items->items[before].variance;
	}
	return 0;
}

static int add_cpu(struct diff_items *items, const struct diff_part *part, struct error *err)
{
	const struct query *q = &part->query;
	const struct run *run = profile_run(part->profile);
	bool whole = !q->from_ns && !q->to_ns && !run->recorded_to_ns;
	double sampled = (double)query_on_cpu_ns(part->profile, q->from_ns, q->to_ns);

	if (whole && run->target_cpu_ns)
		return add(items, "CPU time, all threads", (double)run->target_cpu_ns, 0, err);
	return add(items, "CPU time, all threads", sampled, items->sample_ns, err);
}

static int add_step(struct diff_items *items, const struct steps *steps, struct error *err)
{
	double spread = steps->q3_ns > steps->q1_ns ? (double)(steps->q3_ns - steps->q1_ns) : 0;
	double count = steps->calls ? (double)steps->calls : 1;
	double error = MEDIAN_ERROR * (spread + (double)steps->bin_ns) / sqrt(count);
	size_t before = items->count;

	if (!steps->count)
		return 0;
	if (add(items, "a step, the median one", (double)steps->median_ns, error, err) < 0)
		return -1;
	if (items->count > before) {
		items->items[before].calls = (double)steps->calls;
		items->items[before].found = true;
		items->items[before].by_clock = steps->provider != NULL;
	}
	return 0;
}

static int add_phases(struct diff_items *items, const struct diff_part *part, struct error *err)
{
	const struct steps_query wanted = { .name = part->steps,
		                            .from_ns = part->query.from_ns,
		                            .to_ns = part->query.to_ns };
	cleanup(steps) struct steps *steps = query_steps(part->profile, &wanted, err);
	struct startup startup;

	if (!steps || add_step(items, steps, err) < 0)
		return -1;
	if (part->query.from_ns || part->query.to_ns)
		return 0; // it is a phase, or a part of one
	cleanup(warmup_rows) struct warmup_rows *warmup =
		query_warmup(part->profile, &part->query, err);
	uint64_t limit = steps->count ? steps->steps[0].begin_ns : 0;
	if (!warmup || query_startup(part->profile, limit, &startup, err) < 0)
		return -1;
	double start = (double)startup.ns, steady = (double)warmup->steady_ns;
	if (add_phase(items, "start-up", start, START_VARIES * start + PHASE_EXACT_NS, err) < 0)
		return -1;
	if (!steady)
		return 0;
	double warm = (double)warmup->excess_ns;
	if (add_phase(items, "warm-up, beyond the steady level", warm,
	              START_VARIES * warm + PHASE_EXACT_NS, err) < 0)
		return -1;
	return add_phase(items, "after the warm-up", wall_of(part) - steady, PHASE_EXACT_NS, err);
}

// What bench measured: the median of many runs, or of a range's calls.
static int add_repeats(struct diff_items *items, const struct diff_part *part, struct error *err)
{
	cleanup(repeat_rows) struct repeat_rows *rows = query_repeats(part->profile, err);
	char name[64];

	if (!rows)
		return -1;
	for (size_t i = 0; i < rows->count; i++) {
		enum repeat_metric metric = repeat_metric_of(&rows->rows[i]);
		const struct spread *spread = &rows->rows[i].spread[metric];
		double count = spread->count ? (double)spread->count : 1;
		size_t before = items->count;
		snprintf(name, sizeof(name), "repeated %s, the median%s%.0zu",
		         metric == REPEAT_WALL ? "runs" : "calls", i ? " of command " : "",
		         i ? i + 1 : 0);
		if (add(items, name, spread->median,
		        MEDIAN_ERROR * (spread->q3 - spread->q1) / sqrt(count), err) < 0)
			return -1;
		if (items->count > before)
			items->items[before].calls = (double)spread->count;
	}
	return 0;
}

int diff_items_take_run(struct diff_items *items, const struct diff_part *part, struct error *err)
{
	struct totals totals;

	query_totals(part->profile, &totals);
	// Of repeated runs, which bench makes, no threads are known.
	if (totals.threads && (add_account(items, part, err) < 0 || add_cpu(items, part, err) < 0 ||
	                       add_phases(items, part, err) < 0))
		return -1;
	return add_repeats(items, part, err);
}
