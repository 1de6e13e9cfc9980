// SPDX-License-Identifier: MIT
#include "merge/gpu/gpu_busy.h"
#include "tests/support/expect.h"

#include <stdio.h>
#include <string.h>

static struct gpu_busy busy;
static char story[1024]; // "B10-20" for each state, "gap20-30:thread"

static void hear_state(void *context, enum gpu_state state, uint64_t begin_ns, uint64_t end_ns)
{
	static const char letters[GPU_STATES] = { 'B', 'K', 'C', 'O', 'H' };
	size_t used = strlen(story);

	(void)context;
	snprintf(story + used, sizeof(story) - used, "%c%lu-%lu ", letters[state],
	         (unsigned long)begin_ns, (unsigned long)end_ns);
}

static void hear_gap(void *context, uint64_t begin_ns, uint64_t end_ns, uint32_t thread)
{
	size_t used = strlen(story);

	(void)context;
	snprintf(story + used, sizeof(story) - used, "gap%lu-%lu:%u ", (unsigned long)begin_ns,
	         (unsigned long)end_ns, thread);
}

static const struct gpu_busy_sink sink = { NULL, hear_state, hear_gap, NULL };
static uint64_t shared[4]; // by stream

static void hear_shared(void *context, uint32_t stream, uint64_t ns)
{
	(void)context;
	shared[stream] += ns;
}

static void end(void)
{
	gpu_busy_fini(&busy);
}

TestSuite(gpu_busy, .fini = end);

static void kernel(uint64_t begin_ns, uint64_t end_ns, uint32_t thread)
{
	cr_assert(gpu_busy_add(&busy, &(struct gpu_span){ begin_ns, end_ns, thread, false, 0 }));
}

static void copy(uint64_t begin_ns, uint64_t end_ns, uint32_t thread)
{
	cr_assert(gpu_busy_add(&busy, &(struct gpu_span){ begin_ns, end_ns, thread, true, 0 }));
}

static const char *settle(uint64_t until_ns)
{
	story[0] = '\0';
	cr_assert(gpu_busy_settle(&busy, until_ns, &sink));
	return story;
}

Test(gpu_busy, streams_at_once_are_busy_once)
{
	kernel(10, 30, 1);
	kernel(20, 40, 1);
	cr_expect(eq(str, (char *)settle(100), "O20-30 B10-40 K10-40 "));
	cr_expect(eq(u64, busy.first_ns, 10));
	cr_expect(eq(u64, busy.end_ns, 40));
}

Test(gpu_busy, a_gap_is_of_the_thread_whose_work_ends_it)
{
	kernel(50, 60, 2);
	kernel(10, 20, 1);
	cr_expect(eq(str, (char *)settle(100), "B10-20 K10-20 gap20-50:2 B50-60 K50-60 "));
}

Test(gpu_busy, what_follows_at_once_leaves_no_gap_and_is_no_overlap)
{
	kernel(10, 20, 1);
	kernel(20, 30, 1);
	cr_expect(eq(str, (char *)settle(100), "B10-30 K10-30 "));
}

Test(gpu_busy, copies_behind_kernels_are_told)
{
	kernel(10, 30, 1);
	copy(20, 50, 1);
	cr_expect(eq(str, (char *)settle(100), "K10-30 O20-30 H20-30 B10-50 C20-50 "));
}

Test(gpu_busy, what_is_not_final_waits_and_no_gap_opens_where_it_was_cut)
{
	kernel(10, 60, 1);
	kernel(80, 90, 3);
	cr_expect(eq(str, (char *)settle(40), "B10-40 K10-40 "));
	cr_expect(eq(str, (char *)settle(70), "B40-60 K40-60 "));
	cr_expect(eq(str, (char *)settle(75), ""));
	cr_expect(eq(str, (char *)settle(100), "gap60-80:3 B80-90 K80-90 "));
}

Test(gpu_busy, what_comes_out_of_order_in_time_is_in_its_place)
{
	kernel(30, 40, 1);
	kernel(10, 20, 1);
	settle(25);
	kernel(26, 28, 1);
	cr_expect(
		eq(str, (char *)settle(100), "gap20-26:1 B26-28 K26-28 gap28-30:1 B30-40 K30-40 "));
	cr_expect(eq(u64, busy.late, 0));
}

Test(gpu_busy, what_comes_too_late_is_counted_and_the_rest_of_it_kept)
{
	kernel(10, 20, 1);
	settle(50);
	kernel(30, 60, 1);
	kernel(31, 40, 1);
	cr_expect(eq(str, (char *)settle(100), "gap20-50:1 B50-60 K50-60 "));
	cr_expect(eq(u64, busy.late, 2));
}

Test(gpu_busy, what_a_stream_shares_is_told_across_cuts_and_counts_each_stream_once)
{
	const struct gpu_busy_sink hears = { NULL, hear_state, hear_gap, hear_shared };
	const struct gpu_span spans[] = { { 10, 40, 1, false, 1 },
		                          { 20, 50, 1, true, 2 },
		                          { 30, 35, 1, false, 3 },
		                          { 32, 34, 1, false, 3 }, // two at once on one
		                          { 60, 70, 1, false, 1 } };

	memset(shared, 0, sizeof(shared));
	for (size_t i = 0; i < sizeof(spans) / sizeof(spans[0]); i++)
		cr_assert(gpu_busy_add(&busy, &spans[i]));
	for (uint64_t until_ns = 5; until_ns <= 100; until_ns += 7)
		cr_assert(gpu_busy_settle(&busy, until_ns, &hears));
	cr_expect(eq(u64, shared[1], 20));
	cr_expect(eq(u64, shared[2], 20));
	cr_expect(eq(u64, shared[3], 5));
	cr_expect(eq(u64, shared[0], 0));
}
