// SPDX-License-Identifier: MIT
#include "merge/query/query_timeline.h"

#include "base/error.h"
#include "merge/gpu/gpu_busy.h"
#include "merge/profile/profile_parts.h"
#include "tests/support/expect.h"
#include "tests/unit/merge_fixture.h"

#include <string.h>

static struct fixture f;

static void begin(void)
{
	fixture_init(&f, NULL);
}

static void end(void)
{
	fixture_fini(&f);
}

TestSuite(query_timeline, .init = begin, .fini = end);

static struct timeline *ask_timeline(const struct query *query, uint32_t bins, size_t lanes)
{
	static const struct query all = { .thread = NULL };
	struct error err = { .text = "" };
	struct timeline *t = query_timeline(f.profile, query ? query : &all, bins, lanes, &err);

	cr_assert(t != NULL, "%s", err.text);
	return t;
}

static uint64_t sum_of(const struct timeline_lane *lane, int metric)
{
	uint64_t sum = 0;

	for (uint32_t bin = 0; bin < lane->bins; bin++)
		sum += lane->ns[(size_t)metric * lane->bins + bin];
	return sum;
}

static void add_at(uint64_t ms, uint32_t thread, enum metric metric, uint64_t for_ms)
{
	uint64_t start = f.now_ns;

	f.now_ns += ms * MS;
	add(&f, thread, metric, for_ms, "main a.c:3");
	f.now_ns = start;
}

Test(query_timeline, each_thread_has_its_own_lane_in_the_order_of_their_start)
{
	add_thread(&f, 2, 1, 101, "worker");
	add_at(0, 2, METRIC_ON_CPU, 5);
	add_at(0, 1, METRIC_ON_CPU, 3);
	cleanup(timeline) struct timeline *t = ask_timeline(NULL, 100, 10);
	cr_assert_eq(t->count, 2);
	cr_expect_str_eq(t->lanes[0].thread, "main");
	cr_expect_str_eq(t->lanes[1].thread, "worker");
	cr_expect_eq(t->lanes[1].tid, 101);
	cr_expect_eq(t->lanes[0].on_cpu_ns, 3 * MS);
	cr_expect_eq(t->lanes[1].on_cpu_ns, 5 * MS);
}

Test(query_timeline, an_interval_fills_the_bins_that_it_covers_and_no_others)
{
	add_at(10, 1, METRIC_OFF_LOCK, 20);
	add_at(50, 1, METRIC_ON_CPU, 1);
	cleanup(timeline) struct timeline *t = ask_timeline(NULL, 4096, 10);
	const struct timeline_lane *lane = &t->lanes[0];
	cr_expect_eq(sum_of(lane, METRIC_OFF_LOCK), 20 * MS);
	for (uint32_t bin = 0; bin < lane->bins; bin++) {
		int64_t at = lane->origin_ns + (int64_t)(bin * lane->bin_ns);
		bool inside = at >= (int64_t)(10 * MS) && at < (int64_t)(30 * MS);
		cr_expect_eq(lane->ns[(size_t)METRIC_OFF_LOCK * lane->bins + bin],
		             inside ? lane->bin_ns : 0, "bin %u", bin);
	}
}

Test(query_timeline, coarser_bins_hold_the_same_time)
{
	for (uint64_t i = 0; i < 300; i++)
		add_at(3 * i, 1, i % 3 ? METRIC_ON_CPU : METRIC_OFF_FILE, i % 3 ? 1 : 2);
	cleanup(timeline) struct timeline *fine = ask_timeline(NULL, 4096, 10);
	cleanup(timeline) struct timeline *coarse = ask_timeline(NULL, 16, 10);
	cr_expect_leq(coarse->lanes[0].bins, 16);
	cr_expect_gt(coarse->lanes[0].bin_ns, fine->lanes[0].bin_ns);
	for (int m = 0; m < METRIC_COUNT; m++)
		cr_expect_eq(sum_of(&coarse->lanes[0], m), sum_of(&fine->lanes[0], m), "%s",
		             metric_name((enum metric)m));
}

Test(query_timeline, the_least_busy_threads_are_left_out_and_counted)
{
	for (uint32_t i = 2; i <= 6; i++) {
		add_thread(&f, i, 1, 100 + i, "worker");
		add_at(i, i, METRIC_ON_CPU, i);
	}
	cleanup(timeline) struct timeline *t = ask_timeline(NULL, 100, 2);
	cr_assert_eq(t->count, 2);
	cr_expect_eq(t->left_out, 4);
	cr_expect_eq(t->lanes[0].tid, 105);
	cr_expect_eq(t->lanes[1].tid, 106);
}

Test(query_timeline, only_the_threads_that_are_asked_for)
{
	add_thread(&f, 2, 1, 101, "worker");
	add_at(0, 1, METRIC_ON_CPU, 3);
	add_at(0, 2, METRIC_ON_CPU, 4);
	const struct query query = { .thread = "worker" };
	cleanup(timeline) struct timeline *t = ask_timeline(&query, 100, 10);
	cr_assert_eq(t->count, 1);
	cr_expect_str_eq(t->lanes[0].thread, "worker");
	cr_expect_eq(t->left_out, 0);
}

Test(query_timeline, a_gpu_has_a_lane_behind_the_threads)
{
	const struct record_gpu_kernel record = {
		.head = { .type = RECORD_GPU_KERNEL, .time_ns = f.now_ns + 9 * MS },
		.begin_ns = f.now_ns + 2 * MS,
		.end_ns = f.now_ns + 9 * MS,
		.place = { 1, 0, 1, 7 },
	};
	const struct op op = { .provider = OP_GPU, .domain = "", .category = "", .name = "k" };

	add_at(0, 1, METRIC_ON_CPU, 3);
	profile_add_gpu(f.profile, &(struct gpu_event){ .process = 1,
	                                                .op = ops_add(f.ops, &op)->id,
	                                                .record = &record.head });
	profile_end_gpu(f.profile);
	cleanup(timeline) struct timeline *t = ask_timeline(NULL, 4096, 10);
	cr_assert_eq(t->count, 2);
	cr_expect_not(t->lanes[0].gpu);
	cr_expect(t->lanes[1].gpu);
	cr_expect_eq(t->lanes[1].on_cpu_ns, 7 * MS);
	cr_expect_eq(sum_of(&t->lanes[1], GPU_KERNELS), 7 * MS);
	cr_expect_eq(sum_of(&t->lanes[1], GPU_COPIES), 0);
}

Test(query_timeline, a_thread_that_is_not_there_is_an_error)
{
	const struct query query = { .thread = "nobody" };
	struct error err = { .text = "" };

	cr_expect(query_timeline(f.profile, &query, 10, 10, &err) == NULL);
	cr_expect(strstr(err.text, "nobody") != NULL, "%s", err.text);
}
