// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "merge/table/cells.h"
#include "tests/support/expect.h"

#include <stdlib.h>

static struct cells c;

static void begin(void)
{
	cr_assert(cells_init(&c));
	c.origin_ns = NS_PER_SEC;
}

static void end(void)
{
	cells_fini(&c);
}

TestSuite(cells, .init = begin, .fini = end);

// Times in microseconds after the origin.
static void put(uint32_t node, enum metric metric, uint64_t at, uint64_t length, uint64_t weight)
{
	struct interval interval = { NS_PER_SEC + at * NS_PER_US, length * NS_PER_US,
		                     weight * NS_PER_US, 1 };
	uint64_t missing;

	cr_assert(cells_add(&c, node, metric, &interval, &missing));
}

static uint64_t sum_ns(void)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < c.count; i++)
		sum += cells_whole(&c, &c.cells[i]);
	return sum;
}

static uint64_t ns_in_bin(uint32_t node, uint32_t bin)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < c.count; i++)
		if (c.cells[i].node == node)
			sum += cells_between(&c, &c.cells[i], bin, bin + 1);
	return sum;
}

static uint64_t sum_samples(void)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < c.count; i++)
		sum += c.cells[i].samples;
	return sum;
}

Test(cells, samples_of_one_node_metric_and_bin_are_one_cell)
{
	put(1, METRIC_ON_CPU, 100, 0, 10);
	put(1, METRIC_ON_CPU, 900, 0, 20);
	put(1, METRIC_ON_CPU, 1000, 0, 1);
	put(2, METRIC_ON_CPU, 900, 0, 1);
	put(1, METRIC_OFF_LOCK, 900, 0, 1);
	cr_expect(eq(u32, c.count, 4));
	cr_expect(eq(u64, c.cells[0].ns, 30 * NS_PER_US));
	cr_expect(eq(u32, c.cells[0].samples, 2));
}

Test(cells, an_interval_is_spread_over_the_bins_that_it_spans)
{
	// As long as it is, and one that is worth half of what it lasts.
	static const uint64_t weights[] = { 2250, 1125 };

	for (uint32_t i = 0; i < 2; i++) {
		put(i + 1, METRIC_OFF_FILE, 1500, 2250, weights[i]);
		cr_expect(eq(u64, ns_in_bin(i + 1, 0), 0));
		cr_expect(eq(u64, ns_in_bin(i + 1, 1), 500 * NS_PER_US * weights[i] / 2250));
		cr_expect(eq(u64, ns_in_bin(i + 1, 2), 1000 * NS_PER_US * weights[i] / 2250));
		cr_expect(eq(u64, ns_in_bin(i + 1, 3), 750 * NS_PER_US * weights[i] / 2250));
		cr_expect(eq(u64, ns_in_bin(i + 1, 4), 0));
	}
	cr_expect(eq(u64, sum_samples(), 2), "each is one sample");
}

Test(cells, an_interval_that_ends_with_a_bin_leaves_the_next_alone)
{
	put(1, METRIC_OFF_FILE, 0, 2000, 2000);
	put(1, METRIC_OFF_FILE, 5000, 1000, 1000);
	cr_expect(eq(u32, c.last_bin, 5));
	cr_expect(eq(u64, ns_in_bin(1, 1), NS_PER_MS));
	cr_expect(eq(u64, ns_in_bin(1, 2), 0));
	cr_expect(eq(u64, ns_in_bin(1, 5), NS_PER_MS));
}

Test(cells, an_interval_takes_two_cells_however_long_it_is)
{
	put(1, METRIC_OFF_SLEEP, 500, 3000000, 3000000);
	cr_expect(eq(u32, c.count, 2));
	cr_expect(eq(u64, ns_in_bin(1, 1234), NS_PER_MS));
}

Test(cells, intervals_without_a_gap_leave_no_cells_between_them)
{
	for (uint64_t i = 0; i < 512; i++)
		put(1, METRIC_OFF_SLEEP, i * 8000, 8000, 8000);
	for (int i = 0; i < 3; i++)
		cells_widen(&c);
	// Each end of one is in the bin before the start of the next.
	cr_expect(eq(u64, ns_in_bin(1, 511), 8 * NS_PER_MS));
	cells_widen(&c);
	cr_expect(le(u32, c.count, 257));
	cr_expect(eq(u64, sum_ns(), 4096 * NS_PER_MS));
}

Test(cells, widening_keeps_the_time_of_each_bin)
{
	uint64_t before[256];

	srand(2);
	for (int i = 0; i < 300; i++) {
		uint64_t at = (uint64_t)rand() % 200000, length = (uint64_t)rand() % 50000;
		put(1 + (uint32_t)i % 2, METRIC_OFF_LOCK, at, length, i % 3 ? length : length / 2);
	}
	for (int width = 0; width < 8; width++) {
		for (uint32_t bin = 0; bin < 256; bin++)
			before[bin] = ns_in_bin(2, bin);
		cells_widen(&c);
		for (uint32_t bin = 0; bin < 128; bin++)
			cr_expect(eq(u64, ns_in_bin(2, bin), before[2 * bin] + before[2 * bin + 1]),
			          "bin %u of %lu ns", bin, c.width_ns);
	}
}

Test(cells, what_is_spread_adds_up_to_the_nanosecond)
{
	uint64_t total = 0;

	srand(1);
	for (int i = 0; i < 2000; i++) {
		struct interval interval = { NS_PER_SEC + (uint64_t)rand() % NS_PER_SEC,
			                     (uint64_t)rand() % (40 * NS_PER_MS),
			                     (uint64_t)rand() % (50 * NS_PER_MS), 1 };
		uint64_t missing;
		cr_assert(cells_add(&c, 1 + (uint32_t)rand() % 5, METRIC_OFF_LOCK, &interval,
		                    &missing));
		total += interval.weight_ns;
	}
	cr_expect(eq(u64, sum_ns(), total));
	cr_expect(eq(u64, sum_samples(), 2000));
}

Test(cells, bins_double_when_the_run_outgrows_them)
{
	put(1, METRIC_ON_CPU, 100, 0, 5);
	put(1, METRIC_ON_CPU, 1100, 0, 6);
	put(1, METRIC_ON_CPU, 4096000 - 1, 0, 7);
	cr_expect(eq(u64, c.width_ns, NS_PER_MS));
	put(1, METRIC_ON_CPU, 4096000, 0, 8);
	cr_expect(eq(u64, c.width_ns, 2 * NS_PER_MS));
	cr_expect(eq(u32, c.count, 3), "the first two share a bin now");
	cr_expect(eq(u64, sum_ns(), 26 * NS_PER_US));
	cr_expect(eq(u32, c.last_bin, 2048));
}

Test(cells, an_interval_of_a_day_fits)
{
	put(1, METRIC_OFF_SLEEP, 10, UINT64_C(86400) * 1000000, UINT64_C(86400) * 1000000);
	cr_expect(le(u32, c.last_bin, CELLS_BINS - 1));
	cr_expect(eq(u64, sum_ns(), UINT64_C(86400) * NS_PER_SEC));
}

Test(cells, time_before_the_origin_is_the_first_bin)
{
	struct interval early = { 5, 0, 77, 1 };
	uint64_t missing;

	cr_assert(cells_add(&c, 1, METRIC_ON_CPU, &early, &missing));
	cr_expect(eq(int, c.cells[0].bin, 0));
}

Test(cells, times_that_cannot_be_end)
{
	static const struct interval wild[] = { { UINT64_MAX, 0, 1, 1 },
		                                { 0, UINT64_MAX, UINT64_MAX, 1 },
		                                { UINT64_MAX, UINT64_MAX, 3, 1 } };

	for (size_t i = 0; i < 3; i++) {
		uint64_t missing;
		cr_assert(cells_add(&c, 1, METRIC_ON_CPU, &wild[i], &missing));
		cr_expect(lt(u32, c.last_bin, CELLS_BINS), "row %zu", i);
	}
}

Test(cells, cells_of_nodes_that_become_one_are_added_up)
{
	const uint32_t map[] = { 1, 2, 2 };

	put(1, METRIC_ON_CPU, 0, 0, 1);
	put(2, METRIC_ON_CPU, 0, 0, 2);
	put(3, METRIC_ON_CPU, 0, 0, 4);
	put(3, METRIC_ON_CPU, 1000, 0, 8);
	cells_move_nodes(&c, map);
	cr_assert(eq(u32, c.count, 3));
	cr_expect(eq(u64, sum_ns(), 15 * NS_PER_US));
	put(2, METRIC_ON_CPU, 0, 0, 1);
	cr_expect(eq(u32, c.count, 3), "the index knows them");
}
