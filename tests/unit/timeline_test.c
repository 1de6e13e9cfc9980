// SPDX-License-Identifier: MIT
#include "sampler/agent/timeline.h"
#include "tests/support/expect.h"

static struct timeline line;
static struct timeline_switch out[TIMELINE_SWITCHES_MAX];

// Plays switches back: what off_cpu.c would make of them.
static struct {
	uint64_t since, on, blocked, waited;
	bool out, preempted;
} heard;

static void hear(size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t length = out[i].time_ns - heard.since;
		cr_assert(ge(u64, out[i].time_ns, heard.since), "time does not go back");
		cr_assert(ne(int, out[i].in, !heard.out), "in and out take turns");
		if (!heard.out)
			heard.on += length;
		else if (heard.preempted)
			heard.waited += length;
		else
			heard.blocked += length;
		heard.since = out[i].time_ns;
		heard.out = !out[i].in;
		heard.preempted = out[i].preempted;
	}
}

static void start(void)
{
	timeline_start(&line, 1000, 50, 7);
	heard.since = 1000;
	heard.on = heard.blocked = heard.waited = 0;
	heard.out = heard.preempted = false;
}

TestSuite(timeline, .init = start);

static uint64_t on_by(uint64_t now)
{
	return heard.on + (heard.out ? 0 : now - heard.since);
}

Test(timeline, a_thread_that_runs_all_the_time_has_no_switches)
{
	cr_expect(eq(ulong, timeline_running(&line, 2000, 1050, 7, 1, out), 0));
	cr_expect(eq(ulong, timeline_running(&line, 3000, 2050, 7, 1, out), 0));
}

Test(timeline, off_cpu_time_is_laid_between_two_samples)
{
	hear(timeline_running(&line, 2000, 1050, 7, 1, out));
	hear(timeline_running(&line, 5000, 2050, 7, 1, out));
	cr_expect(eq(u64, heard.blocked, 2000));
	cr_expect(eq(u64, on_by(5000), 2000));
}

Test(timeline, waiting_for_a_cpu_is_told_apart)
{
	hear(timeline_running(&line, 5000, 1050, 507, 1, out));
	cr_expect(eq(u64, heard.waited, 500));
	cr_expect(eq(u64, heard.blocked, 2500));
	cr_expect(eq(u64, on_by(5000), 1000));
}

Test(timeline, short_gaps_wait_until_they_have_come_together)
{
	cr_expect(eq(ulong, timeline_running(&line, 2000, 1000, 7, 100, out), 0));
	hear(timeline_running(&line, 3000, 1940, 7, 100, out));
	cr_expect(eq(u64, heard.blocked, 110));
	cr_expect(eq(u64, on_by(3000), 1890));
}

Test(timeline, a_blocked_thread_is_out_until_it_has_run_again)
{
	hear(timeline_blocked(&line, 3000, 550, 7, out));
	cr_expect(heard.out);
	cr_expect(eq(u64, heard.since, 1500));
	cr_expect(eq(ulong, timeline_blocked(&line, 4000, 550, 7, out), 0), "nothing new");
	hear(timeline_running(&line, 6000, 1050, 7, 1, out));
	cr_expect(not(heard.out));
	cr_expect(eq(u64, heard.blocked, 4000));
	cr_expect(eq(u64, on_by(6000), 1000));
}

Test(timeline, what_a_thread_waited_for_a_cpu_before_it_blocked_is_not_the_end_of_its_wait)
{
	hear(timeline_blocked(&line, 3000, 550, 607, out));
	cr_expect(heard.out && !heard.preempted);
	cr_expect(eq(u64, heard.since, 2100));
	cr_expect(eq(u64, heard.waited, 600));
	size_t count = timeline_running(&line, 6000, 1050, 607, 1, out);
	cr_expect(eq(ulong, count, 1), "the wait is one interval");
	hear(count);
	cr_expect(eq(u64, heard.blocked, 3400));
	cr_expect(eq(u64, heard.waited, 600));
	cr_expect(eq(u64, on_by(6000), 1000));
}

Test(timeline, a_short_run_between_two_waits_opens_a_new_wait)
{
	hear(timeline_blocked(&line, 3000, 550, 7, out));
	hear(timeline_blocked(&line, 9000, 650, 7, out));
	cr_expect(heard.out);
	cr_expect(eq(u64, heard.since, 9000));
	cr_expect(eq(u64, heard.on, 600));
	cr_expect(eq(u64, heard.blocked, 7400));
}

static size_t wait_between(uint64_t begin, uint64_t end, uint64_t off)
{
	const struct timeline_wait wait = { begin, end, 0 };

	return timeline_waited(&line, &wait, off, 7, 1, out);
}

Test(timeline, a_wait_that_is_known_lies_where_it_was)
{
	hear(wait_between(3000, 4500, 0));
	cr_expect(eq(u64, heard.on, 2000));
	cr_expect(eq(u64, heard.blocked, 1500));
	cr_expect(eq(u64, heard.since, 4500));
	cr_expect(eq(ulong, timeline_running(&line, 6000, 50 + 3500, 7, 1, out), 0),
	          "that was all");
}

Test(timeline, the_rest_of_the_time_lies_beside_waits_that_are_known)
{
	cr_expect(eq(u64, timeline_off_ns(&line, 6000, 50 + 3000), 2000));
	hear(wait_between(3000, 4500, 200));
	cr_expect(eq(u64, heard.blocked, 1700));
	cr_expect(eq(u64, timeline_off_ns(&line, 6000, 50 + 3000), 300));
	hear(timeline_running(&line, 6000, 50 + 3000, 7, 1, out));
	cr_expect(eq(u64, heard.blocked, 2000));
	cr_expect(eq(u64, on_by(6000), 3000));
}

Test(timeline, a_wait_that_a_look_has_found_ends_where_it_did)
{
	hear(timeline_blocked(&line, 3000, 1550, 7, out));
	cr_expect(eq(u64, heard.since, 2500));
	hear(wait_between(2400, 3700, 0));
	cr_expect(not(heard.out));
	cr_expect(eq(u64, heard.blocked, 1200));
	cr_expect(eq(u64, heard.since, 3700));
}

Test(timeline, of_a_wait_that_is_known_too_late_nothing_is_said)
{
	hear(timeline_running(&line, 5000, 2050, 7, 1, out));
	cr_expect(eq(ulong, wait_between(1500, 2500, 0), 0));
	hear(wait_between(2500, 5500, 0));
	cr_expect(eq(u64, heard.blocked, 2500));
}

Test(timeline, sums_come_true_whatever_comes)
{
	uint64_t now = 1000, cpu = 50, wait = 7;
	unsigned random = 1;

	for (int i = 0; i < 20000; i++) {
		random = random * 1103515245 + 12345;
		uint64_t ran = random >> 8 & 0xfff, waited = random >> 4 & 0xff,
			 blocked = random & 1 ? random >> 16 : 0;
		now += ran + waited + blocked;
		cpu += ran;
		wait += waited;
		hear(random & 2 ? timeline_running(&line, now, cpu, wait, random & 4 ? 500 : 0, out)
		                : timeline_blocked(&line, now, cpu, wait, out));
	}
	now += 1000;
	hear(timeline_running(&line, now, cpu, wait, 0, out));
	cr_expect(eq(u64, on_by(now), cpu - 50));
	cr_expect(le(u64, heard.waited, wait - 7));
	cr_expect(ge(u64, heard.waited * 10, (wait - 7) * 9));
}
