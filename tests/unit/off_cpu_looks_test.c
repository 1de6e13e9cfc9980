// SPDX-License-Identifier: MIT
// What stands for waits: looks, and samples of switches.
#include "tests/support/expect.h"
#include "tests/unit/off_cpu_fixture.h"

Test(off_cpu_looks, a_look_counts_once_the_records_show_that_it_fell_into_the_interval)
{
	start(false);
	off_cpu_begin(o, &thread, MS);
	in(MS);
	out(10 * MS);
	look(16 * MS, PROBE_STACK, METRIC_OFF_PIPE, 0xa);
	in(100 * MS);
	cr_expect(eq(u64, off_cpu_probes(o), 1));
	finish(MS, 101 * MS);
	cr_expect(eq(u32, next_look.looks, 1));
	cr_expect(eq(u64, handed_to(0xa), 90 * MS));
	cr_expect(eq(u64, thread.ns[METRIC_OFF_PIPE], 90 * MS));
}

Test(off_cpu_looks, a_look_during_which_the_thread_came_in_does_not_count)
{
	start(false);
	off_cpu_begin(o, &thread, MS);
	in(MS);
	out(10 * MS);
	look(16 * MS, PROBE_STACK, METRIC_OFF_PIPE, 0xa);
	in(16 * MS + 5); // the look took until 16 ms + 10 ns
	finish(MS, 20 * MS);
	cr_expect(eq(u64, handed_to(0xa), 0));
	cr_expect(eq(u64, thread.ns[METRIC_OFF_OTHER], 6 * MS + 5));
}

Test(off_cpu_looks, a_look_ahead_of_the_records_belongs_to_the_later_interval)
{
	start(false);
	off_cpu_begin(o, &thread, MS);
	in(MS);
	out(10 * MS);
	look(16 * MS, PROBE_STACK, METRIC_OFF_SLEEP, 0xb);
	in(12 * MS); // read late: it had long been somewhere else
	out(14 * MS);
	in(40 * MS);
	finish(MS, 41 * MS);
	cr_expect(eq(u64, thread.ns[METRIC_OFF_SLEEP], 26 * MS));
	cr_expect(eq(u64, handed_to(0xb), 26 * MS));
	cr_expect(eq(u64, handed_to(MARK_UNKNOWN), 2 * MS));
}

Test(off_cpu_looks, a_look_ahead_of_estimated_records_is_no_look_at_what_follows)
{
	start(false);
	open_with((struct off_cpu_options){ .estimated = true });
	off_cpu_begin(o, &thread, MS);
	in(MS);
	out(10 * MS);
	look(16 * MS, PROBE_STACK, METRIC_OFF_LOCK, 0xa); // a short wait, after which it ran
	in(14 * MS);
	out(15 * MS); // where that run is laid
	look(26 * MS, PROBE_STACK, METRIC_OFF_SLEEP, 0xb);
	in(100 * MS);
	finish(MS, 101 * MS);
	cr_expect(eq(u64, handed_to(0xb), 85 * MS));
}

Test(off_cpu_looks, a_wait_that_was_seen_is_one_although_the_thread_runs_by_the_next_look)
{
	start(false);
	open_with((struct off_cpu_options){ .estimated = true });
	off_cpu_begin(o, &thread, MS);
	in(MS);
	out(10 * MS);
	look(16 * MS, PROBE_STACK, METRIC_OFF_LOCK, 0xa);
	in(14 * MS);
	out(15 * MS);
	look(26 * MS, PROBE_RUNNING, METRIC_OFF_OTHER, 0);
	in(30 * MS);
	finish(MS, 31 * MS);
	cr_expect(ge(u64, handed_to(0xa), 15 * MS));
	cr_expect(eq(u64, thread.ns[METRIC_OFF_RUNNABLE], 0));
}

// It ran for a moment, and slept for the rest; where it ran is not known.
Test(off_cpu_looks, an_estimated_wait_laid_where_the_thread_was_seen_to_run_is_none_for_a_cpu)
{
	start(false);
	open_with((struct off_cpu_options){ .estimated = true });
	off_cpu_begin(o, &thread, MS);
	in(MS);
	out(2 * MS);
	look(8 * MS, PROBE_RUNNING, METRIC_OFF_OTHER, 0);
	in(200 * MS);
	preempt(210 * MS); // as the totals have it
	in(213 * MS);
	finish(MS, 220 * MS);
	cr_expect(eq(u64, thread.ns[METRIC_OFF_OTHER], 198 * MS));
	cr_expect(eq(u64, thread.ns[METRIC_OFF_RUNNABLE], 3 * MS));
}

Test(off_cpu_looks, a_thread_is_looked_at_once_in_an_interval)
{
	start(false);
	off_cpu_begin(o, &thread, MS);
	in(MS);
	out(10 * MS);
	for (uint64_t t = 16; t < 200; t += 10)
		look(t * MS, PROBE_STACK, METRIC_OFF_SLEEP, 0xa);
	cr_expect(eq(u32, next_look.looks, 1));
	in(300 * MS);
	finish(MS, 301 * MS);
}

Test(off_cpu_looks, looks_take_at_most_a_200th_of_a_core)
{
	unsigned before;

	start(false);
	next_look.cost_ns = 100 * NS_PER_US;
	off_cpu_begin(o, &thread, MS);
	in(MS);
	out(10 * MS);
	for (uint64_t t = 16; t < 10000; t += 6)
		look(t * MS, PROBE_RUNNING, METRIC_OFF_OTHER, 0);
	before = next_look.looks;
	for (uint64_t t = 10000; t < 20000; t += 6)
		look(t * MS, PROBE_RUNNING, METRIC_OFF_OTHER, 0);
	cr_expect(le(u32, next_look.looks - before, 10000 / 20));
	cr_expect(ge(u32, next_look.looks - before, 10000 / 30));
	in(20000 * MS);
	finish(MS, 20001 * MS);
}

Test(off_cpu_looks, a_single_look_that_costs_much_does_not_put_off_the_next)
{
	start(false);
	off_cpu_begin(o, &thread, MS);
	in(MS);
	out(1000 * MS);
	next_look.cost_ns = 2 * MS;
	look(1010 * MS, PROBE_RUNNING, METRIC_OFF_OTHER, 0);
	look(1020 * MS, PROBE_STACK, METRIC_OFF_LOCK, 0xa);
	in(1030 * MS);
	finish(MS, 1031 * MS);
	cr_expect(eq(u64, handed_to(0xa), 30 * MS));
}

Test(off_cpu_looks, a_thread_that_could_not_be_seen_is_looked_at_again_while_it_waits)
{
	start(false);
	off_cpu_begin(o, &thread, MS);
	in(MS);
	out(10 * MS);
	look(16 * MS, PROBE_RUNNING, METRIC_OFF_OTHER, 0);
	look(26 * MS, PROBE_STACK, METRIC_OFF_LOCK, 0xa);
	in(30 * MS);
	look(36 * MS, PROBE_STACK, METRIC_OFF_LOCK, 0xb); // runs, as far as is known
	cr_expect(eq(u32, next_look.looks, 2));
	finish(MS, 40 * MS);
	cr_expect(eq(u64, handed_to(0xa), 20 * MS));
}

Test(off_cpu_looks, a_thread_that_was_off_the_cpu_but_not_blocked_was_runnable)
{
	struct frame frame = { 0xc, 1, FRAME_EXACT };

	start(false);
	off_cpu_begin(o, &thread, MS);
	in(MS);
	out(10 * MS);
	look(16 * MS, PROBE_RUNNING, METRIC_OFF_OTHER, 0);
	in(30 * MS);
	off_cpu_running(o, &thread, &frame, 1, 0, 31 * MS);
	out(40 * MS);
	in(41 * MS);
	look(50 * MS, PROBE_RUNNING, METRIC_OFF_OTHER, 0); // it really ran
	out(51 * MS);
	in(53 * MS);
	finish(MS, 60 * MS);
	cr_expect(eq(u64, thread.ns[METRIC_OFF_RUNNABLE], 20 * MS));
	cr_expect(eq(u64, handed_to(0xc), 20 * MS));
	cr_expect(eq(u64, thread.ns[METRIC_OFF_OTHER], 3 * MS));
}

Test(off_cpu_looks, a_cause_without_a_stack_waits_for_a_stack_of_that_cause)
{
	start(false);
	off_cpu_begin(o, &thread, MS);
	in(MS);
	out(10 * MS);
	look(16 * MS, PROBE_CAUSE, METRIC_OFF_LOCK, 0);
	next_look.pc = 0;
	in(20 * MS);
	out(30 * MS);
	look(36 * MS, PROBE_STACK, METRIC_OFF_SLEEP, 0xa);
	in(50 * MS);
	out(60 * MS);
	look(66 * MS, PROBE_STACK, METRIC_OFF_LOCK, 0xb);
	in(70 * MS);
	finish(MS, 71 * MS);
	cr_expect(eq(u64, handed_to(0xa), 20 * MS));
	cr_expect(eq(u64, handed_to(0xb), 20 * MS));
}

Test(off_cpu_looks, short_intervals_that_were_hit_stand_for_those_that_were_not)
{
	uint64_t t = 10 * MS, tick = t, seed = 1;

	// It waits for 3 ms in A and for 1 ms in B, on average, and is looked at every 6 ms or so.
	start(false);
	off_cpu_begin(o, &thread, t);
	in(t);
	for (unsigned i = 0; i < 20000; i++) {
		bool longer = i % 2;
		uint64_t length = random_below(&seed, longer ? 6 * MS : 2 * MS);
		out(t);
		for (; tick < t + length; tick += 6 * MS + random_below(&seed, MS)) {
			if (tick > t)
				look(tick, PROBE_STACK, longer ? METRIC_OFF_LOCK : METRIC_OFF_PIPE,
				     longer ? 0xa : 0xb);
		}
		in(t += length + 100);
	}
	uint64_t all = t - 10 * MS;
	finish(10 * MS, t);
	double share = (double)thread.ns[METRIC_OFF_LOCK] / (double)all;
	cr_expect(gt(dbl, share, 0.73), "%f", share);
	cr_expect(lt(dbl, share, 0.77), "%f", share);
	cr_expect(lt(u64, thread.ns[METRIC_OFF_OTHER], all / 50));
}

Test(off_cpu_looks, a_long_interval_does_not_stand_for_short_ones)
{
	uint64_t t = 10 * MS;

	start(false);
	off_cpu_begin(o, &thread, t);
	in(t);
	for (unsigned i = 0; i < 100; i++) { // too short to be hit
		out(t);
		in(t += MS);
	}
	out(t);
	look(t + 6 * MS, PROBE_RUNNING, METRIC_OFF_OTHER, 0);
	look(t + 12 * MS, PROBE_STACK, METRIC_OFF_SLEEP, 0xa);
	in(t + 1000 * MS);
	finish(10 * MS, t + 1000 * MS);
	cr_expect(eq(u64, handed_to(0xa), 1000 * MS));
	cr_expect(eq(u64, handed_to(MARK_UNKNOWN), 100 * MS));
}

Test(off_cpu_looks, which_switches_are_sampled_does_not_matter)
{
	uint64_t t = 10 * MS, tick = t, seed = 7;

	// As the kernel does it when it aims at a frequency: the switch after a long wait is
	// sampled, so of the two that take turns always the same.
	start(true);
	off_cpu_begin(o, &thread, t);
	in(t);
	for (unsigned i = 0; i < 40000; i++) {
		bool longer = i % 2;
		uint64_t length = random_below(&seed, longer ? MS : 400000);
		if (!longer)
			sample(t, 0xb, IN_NANOSLEEP);
		out(t);
		for (; tick < t + length; tick += 6 * MS + random_below(&seed, MS)) {
			if (tick > t)
				look(tick, PROBE_STACK, METRIC_OFF_LOCK, 0xa);
		}
		in(t += length + 100);
	}
	uint64_t all = t - 10 * MS;
	finish(10 * MS, t);
	double share = (double)thread.ns[METRIC_OFF_LOCK] / (double)all;
	cr_expect(gt(dbl, share, 0.70), "%f", share);
	cr_expect(lt(dbl, share, 0.72), "%f", share); // 5/7 = 0.714
}

Test(off_cpu_looks, only_waits_without_a_sample_are_looked_at)
{
	start(true);
	off_cpu_begin(o, &thread, MS);
	in(MS);
	out(10 * MS);
	look(18 * MS, PROBE_STACK, METRIC_OFF_SLEEP, 0xb);
	cr_expect(eq(u32, next_look.looks, 1));
	in(20 * MS);
	sample(30 * MS, 0xc, IN_FUTEX);
	out(30 * MS);
	look(40 * MS, PROBE_STACK, METRIC_OFF_SLEEP, 0xd);
	in(50 * MS);
	out(60 * MS);
	sample(60 * MS + 1, 0xe, IN_FUTEX); // comes late, but comes
	look(70 * MS, PROBE_STACK, METRIC_OFF_SLEEP, 0xf);
	cr_expect(eq(u32, next_look.looks, 1));
	in(80 * MS);
	finish(MS, 81 * MS);
	cr_expect(eq(u64, handed_to(0xb), 10 * MS));
	cr_expect(eq(u64, handed_to(0xc), 20 * MS));
	cr_expect(eq(u64, handed_to(0xe), 20 * MS));
}

Test(off_cpu_looks, a_sample_without_a_cause_is_looked_at)
{
	start(true);
	off_cpu_begin(o, &thread, MS);
	in(MS);
	sample(60 * MS, 0xe, 0);
	out(60 * MS);
	look(70 * MS, PROBE_STACK, METRIC_OFF_PIPE, 0xf);
	in(80 * MS);
	finish(MS, 81 * MS);
	cr_expect(eq(u64, handed_to(0xf), 20 * MS));
	cr_expect(eq(u64, thread.ns[METRIC_OFF_PIPE], 20 * MS));
}
