// SPDX-License-Identifier: MIT
#include "merge/op/op_table.h"

#include "base/clock.h"
#include "tests/support/expect.h"

static struct op_table table;

static void init(void)
{
	cr_assert(op_table_init(&table, 0, 0));
}

static void fini(void)
{
	op_table_fini(&table);
}

TestSuite(op_table, .init = init, .fini = fini);

static struct op_call call(uint32_t op, uint64_t begin_ns, uint64_t duration_ns)
{
	return (struct op_call){
		.key = { .op = op, .thread = 1 },
		.begin_ns = begin_ns,
		.duration_ns = duration_ns,
		.sums = { .calls = 1, .self_ns = duration_ns },
	};
}

static void add(uint32_t op, uint64_t begin_ns, uint64_t duration_ns)
{
	struct op_call one = call(op, begin_ns, duration_ns);

	op_table_add(&table, &one);
}

Test(op_table, calls_add_up)
{
	add(1, 1000, 300);
	add(1, 2000, 100);
	add(1, 3000, 200);
	const struct op_entry *entry = &table.entries[0];

	cr_assert(eq(u32, table.count, 1));
	cr_expect(eq(u64, entry->sums.calls, 3));
	cr_expect(eq(u64, entry->sums.total_ns, 600));
	cr_expect(eq(u64, entry->sums.self_ns, 600));
	cr_expect(eq(u64, entry->min_ns, 100));
	cr_expect(eq(u64, entry->max_ns, 300));
	cr_expect(eq(u64, entry->first_ns, 300));
}

Test(op_table, the_first_call_is_the_one_that_began_first)
{
	add(1, 5000, 10);
	add(1, 1000, 70);
	add(1, 7000, 20);
	cr_expect(eq(u64, table.entries[0].first_ns, 70));
	cr_expect(eq(u64, table.entries[0].first_begin_ns, 1000));
}

Test(op_table, an_op_within_itself_is_no_more_of_the_total)
{
	struct op_call inner = call(1, 1100, 50);

	inner.within_itself = true;
	op_table_add(&table, &inner);
	add(1, 1000, 200);
	cr_expect(eq(u64, table.entries[0].sums.total_ns, 200));
	cr_expect(eq(u64, table.entries[0].sums.sum_ns, 250));
	cr_expect(eq(u64, table.entries[0].sums.calls, 2));
}

Test(op_table, whatever_differs_is_a_row_of_its_own)
{
	struct op_call one = call(1, 1000, 1);

	op_table_add(&table, &one);
	one.key.shape = 5;
	op_table_add(&table, &one);
	one.key.caller = 5;
	op_table_add(&table, &one);
	one.key.parent = 2;
	op_table_add(&table, &one);
	one.key.thread = 2;
	op_table_add(&table, &one);
	op_table_add(&table, &one);
	cr_expect(eq(u32, table.count, 5));
	cr_expect(eq(u64, table.entries[4].sums.calls, 2));
}

Test(op_table, too_many_rows_leave_out_what_tells_them_apart)
{
	uint64_t calls = 0;

	op_table_fini(&table);
	cr_assert(op_table_init(&table, 100, 0));
	for (uint32_t i = 0; i < 1000; i++) {
		struct op_call one = call(1, 1000 + i, 1);
		one.key.shape = i + 1;
		op_table_add(&table, &one);
	}
	for (uint32_t i = 0; i < table.count; i++)
		calls += table.entries[i].sums.calls;
	cr_expect(eq(u32, table.count, 101));
	cr_expect(eq(u64, table.folded, 900));
	cr_expect(eq(u64, calls, 1000), "none is lost");
	cr_expect(eq(u64, table.lost, 0));
}

Test(op_table, calls_without_times_are_counted_apart)
{
	struct op_call many = {
		.key = { .op = 1, .thread = 1 },
		.begin_ns = 1000,
		.sums = { .calls = 50,
		          .untimed = 50,
		          .total_ns = 500,
		          .sum_ns = 500,
		          .self_ns = 400 },
	};

	add(1, 1000, 100);
	op_table_add(&table, &many);
	const struct op_entry *entry = &table.entries[0];
	cr_expect(eq(u64, entry->sums.calls, 51));
	cr_expect(eq(u64, entry->sums.untimed, 50));
	cr_expect(eq(u64, entry->sums.total_ns, 600));
	cr_expect(eq(u64, entry->max_ns, 100));
	cr_expect(eq(u32, entry->durations.count, 1));
}

static uint64_t calls_in_bins(void)
{
	uint64_t calls = 0;

	for (uint32_t i = 0; i < table.bin_count; i++)
		calls += table.bins[i].calls;
	return calls;
}

Test(op_table, bins_widen_as_the_run_goes_on)
{
	for (uint64_t i = 0; i < 10000; i++)
		add(1, 1000 + i * 100 * NS_PER_MS, 1000);
	cr_expect(eq(u64, calls_in_bins(), 10000));
	cr_expect(le(u32, table.bin_count, 4096));
	cr_expect(eq(u64, table.bin_ns, 320 * NS_PER_MS), "1,000 s in at most 4,096");
}

Test(op_table, bins_widen_when_there_are_too_many)
{
	op_table_fini(&table);
	cr_assert(op_table_init(&table, 0, 256));
	for (uint64_t i = 0; i < 2000; i++)
		add((uint32_t)(i % 10), 1000 + i * 10 * NS_PER_MS, 1000);
	cr_expect(eq(u64, calls_in_bins(), 2000));
	cr_expect(le(u32, table.bin_count, 256));
	cr_expect(gt(u64, table.bin_ns, 10 * NS_PER_MS));
}

Test(op_table, beyond_the_limit_a_duration_is_kept_as_a_similar_one)
{
	table.buckets_max = 3;
	add(1, 0, 1000);
	add(1, 0, 2000);
	add(1, 0, 4000);
	add(1, 0, 2100);
	add(1, 0, 3500);
	add(1, 0, 2);
	add(2, 0, 7);
	cr_expect(eq(u64, table.blurred, 3));
	cr_expect(eq(u64, table.lost, 0));
	cr_expect(eq(u32, table.entries[0].durations.count, 3));
	cr_expect(eq(u32, table.entries[0].durations.buckets[0].count, 2), "1000 and 2");
	cr_expect(eq(u32, table.entries[0].durations.buckets[1].count, 2), "2000 and 2100");
	cr_expect(eq(u32, table.entries[0].durations.buckets[2].count, 2), "4000 and 3500");
	cr_expect(eq(u64, table.entries[0].min_ns, 2), "that is exact");
	cr_expect(eq(u32, table.entries[1].durations.count, 1), "one bucket each there is always");
}

Test(op_table, what_was_not_recorded_is_estimated)
{
	struct op_call one = call(1, 1000, 100);

	op_table_add(&table, &one); // all were
	one.weight = 2.5;
	for (unsigned i = 0; i < 10; i++) {
		one.window = 1 + i / 5;
		one.begin_ns += 1000;
		op_table_add(&table, &one);
	}
	op_table_settle(&table);
	const struct op_entry *entry = &table.entries[0];
	cr_expect(eq(u64, entry->sums.calls, 26));
	cr_expect(eq(u64, entry->sums.unseen, 15));
	cr_expect(eq(u64, entry->sums.total_ns, 2600));
	cr_expect(eq(u64, entry->sums.self_ns, 2600));
	cr_expect(eq(u64, histogram_calls(&entry->durations), 26));
	cr_expect(gt(u64, entry->sums.calls_error, 0));
	cr_expect(eq(u64, entry->max_ns, 100));
	cr_expect(eq(u64, table.whole_ns, 1000));
	uint64_t calls = 0;
	for (uint32_t i = 0; i < table.bin_count; i++)
		calls += table.bins[i].calls;
	cr_expect(eq(u64, calls, 26));
}

Test(op_table, what_was_held_up_was_so_once)
{
	struct op_call one = call(1, 1000, 100100);

	one.weight = 10;
	one.window = 1;
	one.stall_ns = one.self_stall_ns = 100000;
	op_table_add(&table, &one);
	op_table_settle(&table);
	cr_expect(eq(u64, table.entries[0].sums.total_ns, 101000));
	cr_expect(eq(u64, table.entries[0].sums.self_ns, 101000));
	cr_expect(eq(u64, table.entries[0].sums.calls, 10));
}

Test(op_table, self_time_is_none_of_what_was_not_recorded)
{
	struct op_call outer = call(1, 1000, 1000);

	outer.sums.self_ns = 900;
	outer.unseen_within = 400;
	op_table_add(&table, &outer);
	outer.unseen_within = 0;
	op_table_add(&table, &outer);
	op_table_settle(&table);
	cr_expect(eq(u64, table.entries[0].sums.self_ns, 1400));
	cr_expect(eq(u64, table.bins[0].self_ns, 1400));
	op_table_settle(&table);
	cr_expect(eq(u64, table.entries[0].sums.self_ns, 1400));
}
