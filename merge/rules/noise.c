// SPDX-License-Identifier: MIT
#include "merge/rules/noise.h"

#include "base/cleanup.h"
#include "merge/numbers/statistics.h"
#include "merge/query/query.h"

#include <math.h>
#include <stdlib.h>

// What is known of machines before runs are compared counts like so many runs.
#define PRIOR_FREEDOM 20

// How much of the machine others had: 0 … 1.
static double others_of(const struct run *run)
{
	double capacity = (double)run->machine_cpus * (double)run->wall_ns;
	double ours = (double)run->target_cpu_ns + (double)run->collector_cpu_ns;
	double others = (double)run->machine_busy_ns + (double)run->machine_steal_ns - ours;

	return capacity > 0 && others > 0 ? fmin(1, others / capacity) : 0;
}

struct noise_level noise_of_run(const struct run *run, const struct totals *totals)
{
	double wanted = (double)totals->on_cpu_ns + (double)totals->runnable_ns;
	double waited = wanted > 0 ? (double)totals->runnable_ns / wanted : 0;
	double others = others_of(run);
	double own = NOISE_QUIET + NOISE_BUSY * others + NOISE_WAITED * waited;

	return (struct noise_level){
		.own = own,
		.kernel = own + NOISE_KERNEL * waited,
		.wall = own + waited,
		.wake_ns = NOISE_WAKE * fmax(waited, others),
	};
}

struct side {
	double mean;
	double variance, least; // of the mean, as its runs tell
	double squares;         // of the distances from the mean
};

static struct side side_of(const struct noise_sample *samples, size_t count)
{
	struct side side = { 0 };
	double n = (double)count;

	for (size_t i = 0; i < count; i++) {
		side.mean += samples[i].value / n;
		side.variance += samples[i].variance / (n * n);
		side.least += samples[i].least / (n * n);
	}
	for (size_t i = 0; i < count; i++)
		side.squares += (samples[i].value - side.mean) * (samples[i].value - side.mean);
	return side;
}

struct noise_test noise_compare(const struct noise_sample *base, size_t base_count,
                                const struct noise_sample *next, size_t next_count)
{
	struct side a = side_of(base, base_count), b = side_of(next, next_count);
	double repeats = (double)(base_count + next_count) - 2;
	struct noise_test test = {
		.change = b.mean - a.mean,
		.error = sqrt(a.variance + b.variance),
		.freedom = PRIOR_FREEDOM,
	};

	if (repeats > 0) {
		double seen = (a.squares + b.squares) / repeats *
		              (1 / (double)base_count + 1 / (double)next_count);
		test.error = sqrt(fmax(seen, a.least + b.least));
		test.freedom = repeats;
	}
	test.p = test.change == 0 ? 1
	         : test.error > 0 ? statistics_student_p(test.change / test.error, test.freedom)
	                          : 0;
	return test;
}

struct ranked {
	double p;
	size_t index;
};

static int compare_ranked(const void *a, const void *b)
{
	const struct ranked *left = a, *right = b;

	if (left->p != right->p)
		return left->p < right->p ? -1 : 1;
	return left->index < right->index ? -1 : left->index > right->index;
}

int noise_holm(const double *p, size_t count, double alpha, double *adjusted, double *level)
{
	cleanup_free struct ranked *ranked = calloc(count + 1, sizeof(*ranked));
	double highest = 0, stopped = 0;

	if (!ranked)
		return -1;
	for (size_t i = 0; i < count; i++)
		ranked[i] = (struct ranked){ p[i], i };
	qsort(ranked, count, sizeof(*ranked), compare_ranked);
	for (size_t i = 0; i < count; i++) {
		double left = (double)(count - i);
		highest = fmax(highest, fmin(1, left * ranked[i].p));
		adjusted[ranked[i].index] = highest;
		// Behind the first that is not significant, none is: their level stays.
		if (highest >= alpha && stopped == 0)
			stopped = alpha / left;
		level[ranked[i].index] = stopped > 0 ? stopped : alpha / left;
	}
	return 0;
}
