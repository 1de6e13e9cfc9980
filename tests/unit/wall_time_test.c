// SPDX-License-Identifier: MIT
#include "merge/wall/wall_time.h"

#include "base/clock.h"
#include "tests/support/expect.h"

#define MS NS_PER_MS

static struct cells own;
static struct paths paths;
static struct wall_time wall_time;

static void add(struct cells *c, uint32_t node, enum metric metric, uint64_t from_ms, uint64_t ms)
{
	const struct interval interval = { from_ms * MS, ms * MS, ms * MS, 1 };
	uint64_t missing_ns;

	cells_fit(c, &interval);
	cr_assert(cells_add(c, node, metric, &interval, &missing_ns));
}

// Of the thread's 150 ms, 100 are waits for a lock, of which others work for 60.
static void begin(void)
{
	cr_assert(cells_init(&own) && paths_init(&paths) && wall_time_init(&wall_time));
	wall_time.root = 1;
	uint32_t root = paths_append(&paths, 0, 1), other = paths_append(&paths, 0, 2);
	uint32_t lock = paths_append(&paths, root, 1), work = paths_append(&paths, root, 2);
	uint32_t theirs = paths_append(&paths, other, 2);
	add(&own, lock, METRIC_OFF_LOCK, 0, 100);
	add(&own, work, METRIC_ON_CPU, 100, 40);
	add(&own, work, METRIC_OFF_RUNNABLE, 140, 10);
	add(&own, theirs, METRIC_ON_CPU, 0, 150);
	add(&wall_time.plus, theirs, METRIC_ON_CPU, 0, 60);
}

static double ms_of(enum metric metric)
{
	uint64_t ns = 0; // a cell alone may be less than 0, modulo 2^64

	for (uint32_t i = 0; i < wall_time.cells.count; i++)
		if (wall_time.cells.cells[i].metric == metric)
			ns += cells_whole(&wall_time.cells, &wall_time.cells.cells[i]);
	return (double)ns / MS;
}

static void end(void)
{
	wall_time_fini(&wall_time);
	paths_fini(&paths);
	cells_fini(&own);
}

Test(wall_time, what_others_did_replaces_the_wait_for_them)
{
	begin();
	add(&wall_time.minus, 3, METRIC_OFF_LOCK, 0, 60);
	cr_assert(wall_time_sum(&wall_time, &own, &paths));
	cr_expect(epsilon_eq(dbl, ms_of(METRIC_OFF_LOCK), 40, 0.1));
	cr_expect(epsilon_eq(dbl, ms_of(METRIC_ON_CPU), 100, 0.1));
	cr_expect(epsilon_eq(dbl, ms_of(METRIC_OFF_RUNNABLE), 10, 0.1));
	end();
}

// Where a wait was known to be for a CPU alone, and the thread has not waited for one for so long.
Test(wall_time, it_sums_to_the_life_of_the_thread_whatever_the_causes)
{
	begin();
	wall_time.minus_ns[METRIC_OFF_RUNNABLE] = 60 * MS;
	cr_assert(wall_time_sum(&wall_time, &own, &paths));
	cr_expect(epsilon_eq(dbl, ms_of(METRIC_OFF_LOCK), 50, 0.1));
	cr_expect(epsilon_eq(dbl, ms_of(METRIC_ON_CPU), 100, 0.1));
	cr_expect(epsilon_eq(dbl, ms_of(METRIC_OFF_RUNNABLE), 0, 0.1));
	end();
}

// The same at a node that the thread has not been at.
Test(wall_time, what_is_taken_out_of_a_place_where_nobody_was_is_taken_elsewhere)
{
	begin();
	add(&wall_time.minus, 4, METRIC_OFF_PIPE, 0, 60);
	cr_assert(wall_time_sum(&wall_time, &own, &paths));
	cr_expect(epsilon_eq(dbl, ms_of(METRIC_OFF_LOCK), 40, 0.1));
	cr_expect(epsilon_eq(dbl, ms_of(METRIC_ON_CPU), 100, 0.1));
	end();
}
