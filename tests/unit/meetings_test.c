// SPDX-License-Identifier: MIT
#include "merge/table/meetings.h"
#include "tests/support/expect.h"

#define MS UINT64_C(1000000)

static void add(struct meetings *m, uint32_t op, uint64_t end_ms, uint64_t took_ms)
{
	const struct meeting meeting = { .op = op,
		                         .ranks = 1,
		                         .last = 1,
		                         .end_ns = end_ms * MS,
		                         .last_ns = took_ms * MS,
		                         .sum_ns = took_ms * MS };

	cr_assert(meetings_add(m, &meeting));
	m->begun = true;
}

// Ten of them, 20 ms after each other, with ends that are AHEAD ms later.
static struct meetings ten(uint64_t ahead_ms, uint32_t last)
{
	struct meetings m = { 0 };

	for (uint64_t i = 0; i < 10; i++)
		add(&m, 1 + (uint32_t)(i % 2), 1000 + 20 * i + ahead_ms, 5);
	for (uint32_t i = 0; i < m.count; i++)
		m.items[i].last = last;
	return m;
}

Test(meetings, clocks_are_compared_by_the_median)
{
	struct meetings one = ten(0, 1), other = ten(300, 1);
	struct meetings_clock clock;

	other.items[4].end_ns += 50 * MS; // who did not get the CPU back at once
	other.items[7].end_ns += 2 * MS;
	cr_assert(meetings_clock(&one, &other, &clock));
	cr_expect(eq(u32, clock.count, 10));
	cr_expect(eq(i64, clock.ahead_ns, 300 * (int64_t)MS));
	cr_expect(eq(u64, clock.residual_ns, 0));
	for (uint32_t i = 0; i < 10; i++)
		other.items[i].end_ns += i % 2 * MS;
	cr_assert(meetings_clock(&one, &other, &clock));
	cr_expect(eq(u64, clock.residual_ns, MS));
	meetings_fini(&one);
	meetings_fini(&other);
}

Test(meetings, a_clock_that_is_behind_is_negative_ahead)
{
	struct meetings one = ten(300, 1), other = ten(0, 1);
	struct meetings_clock clock;

	cr_assert(meetings_clock(&one, &other, &clock));
	cr_expect(eq(i64, clock.ahead_ns, -300 * (int64_t)MS));
	meetings_fini(&one);
	meetings_fini(&other);
}

Test(meetings, too_few_tell_nothing_of_clocks)
{
	struct meetings one = ten(0, 1), other = ten(300, 1);
	struct meetings_clock clock;

	other.count = MEETINGS_LEAST - 1;
	cr_assert(meetings_clock(&one, &other, &clock));
	cr_expect(eq(u32, clock.count, MEETINGS_LEAST - 1));
	cr_expect(eq(i64, clock.ahead_ns, 0));
	meetings_fini(&one);
	meetings_fini(&other);
}

Test(meetings, who_comes_last_is_waited_for_by_the_others)
{
	struct meetings all = { 0 }, first = ten(0, 1), second = ten(0, 2), third = ten(0, 3);

	second.items[3].last_ns = second.items[3].sum_ns = MS; // comes 4 ms after the others
	cr_assert(meetings_join(&all, &first));
	cr_assert(meetings_join(&all, &second));
	cr_assert(meetings_join(&all, &third));
	cr_expect(eq(u32, all.count, 10));
	for (uint32_t i = 0; i < 10; i++) {
		cr_expect(eq(u32, all.items[i].ranks, 3));
		cr_expect(eq(u64, meeting_excess_ns(&all.items[i]), i == 3 ? 4 * MS : 0));
	}
	cr_expect(eq(u32, all.items[3].last, 2));
	meetings_fini(&all);
	meetings_fini(&first);
	meetings_fini(&second);
	meetings_fini(&third);
}

// A rank that is told later that it may go on has not come earlier for that.
Test(meetings, arrivals_count_and_not_how_long_a_call_took)
{
	struct meetings all = { 0 }, first = ten(0, 1), second = ten(0, 2);

	second.items[5].end_ns += 30 * MS;
	second.items[5].last_ns += 30 * MS;
	second.items[5].sum_ns += 30 * MS;
	cr_assert(meetings_join(&all, &first));
	cr_assert(meetings_join(&all, &second));
	cr_expect(eq(u64, meeting_excess_ns(&all.items[5]), 0));
	cr_expect(eq(u64, all.items[5].sum_ns, 10 * MS));
	meetings_fini(&all);
	meetings_fini(&first);
	meetings_fini(&second);
}

Test(meetings, what_not_all_have_in_common_is_left_out)
{
	struct meetings all = { 0 }, first = ten(0, 1), second = ten(0, 2), none = { 0 };

	second.items[6].op = 9;
	cr_assert(meetings_join(&all, &first));
	cr_assert(meetings_join(&all, &none)); // a process without MPI
	cr_assert(meetings_join(&all, &second));
	cr_expect(eq(u32, all.count, 6));
	second.items[0].op = 9;
	cr_assert(meetings_join(&all, &second));
	cr_assert(meetings_join(&all, &first)); // they do not begin anew
	cr_expect(eq(u32, all.count, 0));
	meetings_fini(&all);
	meetings_fini(&first);
	meetings_fini(&second);
}

Test(meetings, no_more_are_kept_than_there_is_room_for)
{
	const struct meeting meeting = { .op = 1, .ranks = 1, .last = 1 };
	struct meetings m = { 0 };

	for (uint32_t i = 0; i < MEETINGS_MAX; i++)
		cr_assert(meetings_add(&m, &meeting));
	cr_expect(not(meetings_add(&m, &meeting)));
	meetings_fini(&m);
}

Test(meetings, only_what_nobody_leaves_early_is_one)
{
	cr_expect(meeting_is_one("MPI_Barrier"));
	cr_expect(meeting_is_one("MPI_Allreduce"));
	cr_expect(not(meeting_is_one("MPI_Bcast"))); // its root may be gone
	cr_expect(not(meeting_is_one("MPI_Ibarrier")));
	cr_expect(not(meeting_is_one("MPI_Reduce")));
}
