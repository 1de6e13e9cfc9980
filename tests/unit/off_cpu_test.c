// SPDX-License-Identifier: MIT
// Switches: of what a thread has lived nothing is missing, whatever is lost.
#include "base/clock.h"
#include "tests/support/expect.h"
#include "tests/unit/off_cpu_fixture.h"

Test(off_cpu, a_thread_is_runnable_until_it_first_runs)
{
	start(false);
	off_cpu_begin(o, &thread, 10 * MS);
	in(13 * MS);
	finish(10 * MS, 20 * MS);
	cr_expect(eq(u64, thread.ns[METRIC_OFF_RUNNABLE], 3 * MS));
	cr_expect(eq(u64, thread.ns[METRIC_ON_CPU], 7 * MS));
	cr_expect(eq(u64, handed_to(MARK_SHORT), 3 * MS), "no sample ever told what it is");
}

Test(off_cpu, a_thread_that_is_first_switched_out_has_been_running)
{
	start(false);
	off_cpu_begin(o, &thread, 10 * MS);
	out(14 * MS);
	in(15 * MS);
	finish(10 * MS, 16 * MS);
	cr_expect(eq(u64, thread.ns[METRIC_ON_CPU], 5 * MS));
}

Test(off_cpu, a_thread_that_is_never_switched_has_been_running)
{
	start(false);
	off_cpu_begin(o, &thread, 10 * MS);
	finish(10 * MS, 16 * MS);
	cr_expect(eq(u64, thread.ns[METRIC_ON_CPU], 6 * MS));
}

Test(off_cpu, a_thread_that_is_found_and_first_switched_in_has_waited_for_a_cpu)
{
	start(false);
	off_cpu_found(o, &thread, 10 * MS);
	in(17 * MS);
	finish(10 * MS, 20 * MS);
	cr_expect(eq(u64, thread.ns[METRIC_OFF_RUNNABLE], 7 * MS));
	cr_expect(eq(u64, thread.ns[METRIC_OFF_OTHER], 0));
	cr_expect(eq(u64, thread.ns[METRIC_ON_CPU], 3 * MS));
}

Test(off_cpu, a_thread_that_is_found_and_sampled_has_been_running)
{
	start(false);
	off_cpu_found(o, &thread, 10 * MS);
	thread.sampled_ns += 4 * MS;
	in(17 * MS); // out at some time in between
	out(18 * MS);
	in(19 * MS);
	finish(10 * MS, 20 * MS);
	cr_expect(eq(u64, thread.ns[METRIC_ON_CPU], (4 + 1 + 1) * MS));
	cr_expect(eq(u64, thread.ns[METRIC_OFF_RUNNABLE], 0));
}

Test(off_cpu, a_sample_may_come_before_or_after_the_record_of_its_switch)
{
	start(true);
	off_cpu_begin(o, &thread, MS);
	in(MS);
	sample(10 * MS, 0xa, IN_NANOSLEEP);
	out(10 * MS + 900);
	in(30 * MS);
	out(40 * MS);
	sample(40 * MS + 900, 0xb, IN_FUTEX);
	in(70 * MS);
	finish(MS, 80 * MS);
	cr_expect(eq(u64, thread.ns[METRIC_OFF_SLEEP], 20 * MS - 900));
	cr_expect(eq(u64, thread.ns[METRIC_OFF_LOCK], 30 * MS));
	cr_expect(eq(u64, handed_to(0xa), 20 * MS - 900));
	cr_expect(eq(u64, handed_to(0xb), 30 * MS));
	cr_expect(eq(u32, handed[0].samples, 1));
	cr_expect(eq(u64, handed[0].time_ns, 10 * MS + 900));
	cr_expect(eq(u64, handed[0].duration_ns, handed[0].weight_ns));
	cr_expect(eq(u32, handed[0].thread, 7));
}

static struct span_event last_wait;

static void keep_wait(void *context, const struct span_event *span)
{
	(void)context;
	if (span->state == THREAD_BLOCKED)
		last_wait = *span;
}

static struct span_event wait_and_wake(uint64_t woken_ns)
{
	start(true);
	open_with((struct off_cpu_options){ .switch_samples = true, .span = keep_wait });
	last_wait = (struct span_event){ 0 };
	off_cpu_begin(o, &thread, 0);
	in(0);
	if (woken_ns < NS_PER_SEC)
		off_cpu_woken(o, &thread, woken_ns, 3, WOKEN_BY_THREAD);
	out(NS_PER_SEC);
	if (woken_ns >= NS_PER_SEC)
		off_cpu_woken(o, &thread, woken_ns, 3, WOKEN_BY_THREAD);
	in(2 * NS_PER_SEC);
	finish(0, 3 * NS_PER_SEC);
	return last_wait;
}

Test(off_cpu, a_wait_ends_as_the_thread_is_woken)
{
	struct span_event wait = wait_and_wake(NS_PER_SEC + 5);

	cr_expect(eq(u64, wait.woken_ns, NS_PER_SEC + 5));
	cr_expect(eq(u32, wait.waker, 3));
	cr_expect(eq(u64, wait.from_ns, NS_PER_SEC));
	cr_expect(eq(u64, wait.to_ns, 2 * NS_PER_SEC));
}

Test(off_cpu, a_thread_may_be_woken_on_its_way_off_the_cpu)
{
	cr_expect(eq(u64, wait_and_wake(NS_PER_SEC - 10 * NS_PER_US).woken_ns, NS_PER_SEC));
	cr_expect(eq(u64, wait_and_wake(NS_PER_SEC / 2).woken_ns, 0), "of an earlier wait");
}

// Who is woken for a lock and polls right then is not woken from that poll.
Test(off_cpu, a_thread_that_runs_for_a_moment_was_not_woken_from_the_wait_behind_that)
{
	start(true);
	open_with((struct off_cpu_options){ .switch_samples = true, .span = keep_wait });
	off_cpu_begin(o, &thread, 0);
	in(0);
	out(NS_PER_SEC / 2);
	off_cpu_woken(o, &thread, NS_PER_SEC - 30 * NS_PER_US, 3, WOKEN_BY_THREAD);
	in(NS_PER_SEC - 20 * NS_PER_US);
	cr_expect(eq(u64, last_wait.woken_ns, NS_PER_SEC - 30 * NS_PER_US));
	out(NS_PER_SEC);
	in(2 * NS_PER_SEC);
	cr_expect(eq(u64, last_wait.from_ns, NS_PER_SEC));
	cr_expect(eq(u64, last_wait.woken_ns, 0));
	finish(0, 3 * NS_PER_SEC);
}

// Without kernel stacks a wait of a millisecond is over before anybody has looked.
Test(off_cpu, a_wait_in_a_call_that_was_reported_has_its_cause_without_a_look)
{
	const struct frame frames[2] = { { 0xf, 1, FRAME_EXACT }, { 0xa, 1, FRAME_RETURN } };

	start(false);
	off_cpu_begin(o, &thread, 0);
	in(0);
	out(MS);
	in(3 * MS);
	off_cpu_call(o, &thread, METRIC_OFF_FILE, frames, 4 * MS);
	out(5 * MS);
	in(8 * MS);
	preempt(9 * MS);
	in(10 * MS);
	out(11 * MS);
	in(15 * MS);
	off_cpu_returned(o, &thread, 4 * MS, 15 * MS);
	out(16 * MS);
	in(21 * MS);
	finish(0, 22 * MS);
	cr_expect(eq(u64, thread.ns[METRIC_OFF_FILE], 7 * MS));
	cr_expect(eq(u64, thread.ns[METRIC_OFF_RUNNABLE], MS));
	cr_expect(eq(u64, thread.ns[METRIC_OFF_OTHER], 7 * MS));
	cr_expect(eq(u64, handed_to(0xf), 7 * MS));
}

// An estimate has one wait where there were many, and may lie before the calls or behind them. What
// it does not lie near is not theirs.
Test(off_cpu, of_an_estimated_wait_as_much_is_in_calls_as_there_was_time_in_them)
{
	const struct frame frames[2] = { { 0xf, 1, FRAME_EXACT }, { 0xa, 1, FRAME_RETURN } };

	start(false);
	open_with((struct off_cpu_options){ .estimated = true });
	off_cpu_begin(o, &thread, 0);
	in(0);
	for (uint64_t ms = 10; ms < 30; ms += 5) {
		off_cpu_call(o, &thread, METRIC_OFF_FILE, frames, ms * MS);
		off_cpu_returned(o, &thread, ms * MS, (ms + 3) * MS);
	}
	out(15 * MS);
	look(20 * MS, PROBE_RUNNING, METRIC_OFF_RUNNABLE, 0);
	in(35 * MS);
	out(50 * MS);
	in(60 * MS);
	off_cpu_call(o, &thread, METRIC_OFF_FILE, frames, 61 * MS);
	off_cpu_returned(o, &thread, 61 * MS, 66 * MS);
	out(100 * MS);
	in(120 * MS);
	finish(0, 121 * MS);
	cr_expect(eq(u64, thread.ns[METRIC_OFF_FILE], 12 * MS));
	cr_expect(eq(u64, handed_to(0xf), 12 * MS));
}

// A look may date the beginning of a wait a little before the call, and the wait is reported when
// the call is over.
Test(off_cpu, an_estimated_wait_is_in_the_call_for_a_child_that_it_overlaps_with)
{
	const struct frame frames[2] = { { 0xf, 1, FRAME_EXACT }, { 0xa, 1, FRAME_RETURN } };

	start(false);
	open_with((struct off_cpu_options){ .estimated = true });
	off_cpu_begin(o, &thread, 0);
	in(0);
	out(9 * MS);
	off_cpu_call(o, &thread, METRIC_OFF_CHILD, frames, 10 * MS);
	off_cpu_returned(o, &thread, 10 * MS, 18 * MS);
	in(18 * MS);
	out(30 * MS);
	off_cpu_call(o, &thread, METRIC_OFF_CHILD, frames, 38 * MS);
	off_cpu_returned(o, &thread, 38 * MS, 40 * MS);
	in(40 * MS);
	finish(0, 41 * MS);
	cr_expect(eq(u64, thread.ns[METRIC_OFF_CHILD], 9 * MS));
	cr_expect(eq(u64, thread.ns[METRIC_OFF_OTHER], 10 * MS));
}

// What is in such a call is known, so that it stands for nothing that is not.
Test(off_cpu, a_look_into_a_reported_call_takes_no_unknown_time)
{
	const struct frame frames[2] = { { 0xf, 1, FRAME_EXACT }, { 0xa, 1, FRAME_RETURN } };

	start(false);
	off_cpu_begin(o, &thread, 0);
	in(0);
	for (int i = 0; i < 50; i++) {
		out((1 + 2 * (uint64_t)i) * MS);
		in((2 + 2 * (uint64_t)i) * MS);
	}
	off_cpu_call(o, &thread, METRIC_OFF_FILE, frames, 101 * MS);
	out(102 * MS);
	look(103 * MS, PROBE_STACK, METRIC_OFF_FILE, 0xb);
	in(104 * MS);
	off_cpu_returned(o, &thread, 101 * MS, 104 * MS);
	finish(0, 105 * MS);
	cr_expect(eq(u64, handed_to(0xb), 2 * MS));
	cr_expect(eq(u64, thread.ns[METRIC_OFF_OTHER], 50 * MS));
}

Test(off_cpu, the_stack_of_one_interval_is_not_used_for_the_next)
{
	start(true);
	off_cpu_begin(o, &thread, MS);
	in(MS);
	sample(2 * MS, 0xa, IN_FUTEX);
	out(2 * MS);
	in(4 * MS);
	out(10 * MS);
	in(15 * MS);
	finish(MS, 16 * MS);
	cr_expect(eq(u64, handed_to(0xa), 2 * MS));
	cr_expect(eq(u64, handed_to(MARK_UNKNOWN), 5 * MS));
}

Test(off_cpu, a_thread_that_ends_waiting_for_a_cpu_had_stopped_where_it_was_seen_last)
{
	struct frame last = { 0xc, 1, FRAME_EXACT };

	start(true);
	off_cpu_begin(o, &thread, MS);
	in(MS);
	off_cpu_switch(o, &thread, 4 * MS, false, true);
	thread.cpu.last.frames = &last;
	thread.cpu.last.count = 1;
	in(10 * MS);
	out(11 * MS);
	in(13 * MS);
	finish(MS, 14 * MS);
	cr_expect(eq(u64, handed_to(0xc), 6 * MS));
	cr_expect(eq(u64, handed_ns[METRIC_OFF_RUNNABLE], 6 * MS));
	cr_expect(eq(u64, handed_to(MARK_UNKNOWN), 2 * MS), "a wait of which nothing is known");
}

Test(off_cpu, a_poll_without_descriptors_is_a_sleep)
{
	start(true);
	off_cpu_begin(o, &thread, MS);
	in(MS);
	sample(2 * MS, 0xa, IN_POLL); // its registers are 0
	out(2 * MS);
	in(4 * MS);
	finish(MS, 5 * MS);
	cr_expect(eq(u64, thread.ns[METRIC_OFF_SLEEP], 2 * MS));
}

Test(off_cpu, of_lost_records_what_was_sampled_counts_as_on_the_cpu)
{
	start(false);
	off_cpu_begin(o, &thread, MS);
	in(10 * MS);
	thread.sampled_ns += 4 * MS;
	in(30 * MS); // out at some time in between
	cr_expect(eq(u64, thread.ns[METRIC_ON_CPU], 4 * MS));
	cr_expect(eq(u64, thread.ns[METRIC_OFF_OTHER], 16 * MS));
	out(40 * MS);
	thread.sampled_ns += 50 * MS; // more than there is
	out(60 * MS);
	in(70 * MS);
	finish(MS, 80 * MS);
	cr_expect(eq(u64, thread.ns[METRIC_ON_CPU], (4 + 10 + 20 + 10) * MS));
}

Test(off_cpu, a_sample_on_the_cpu_proves_that_a_waiting_thread_came_in)
{
	struct frame frame = { 0xc, 1, FRAME_EXACT };

	start(false);
	off_cpu_begin(o, &thread, MS);
	in(MS);
	out(10 * MS);
	off_cpu_running(o, &thread, &frame, 1, 0, 15 * MS);
	out(35 * MS);
	in(40 * MS);
	finish(MS, 41 * MS);
	cr_expect(eq(u64, thread.ns[METRIC_ON_CPU], (9 + 20 + 1) * MS));
	cr_expect(eq(u64, thread.ns[METRIC_OFF_OTHER], 10 * MS));
}

Test(off_cpu, a_second_sample_while_out_begins_another_interval)
{
	start(true);
	off_cpu_begin(o, &thread, MS);
	in(MS);
	sample(10 * MS, 0xa, IN_FUTEX);
	out(10 * MS);
	sample(50 * MS, 0xb, IN_NANOSLEEP); // in and out between them were lost,
	out(50 * MS + 300);                 // or this was
	in(60 * MS);
	finish(MS, 61 * MS);
	cr_expect(eq(u64, handed_to(0xa), 40 * MS));
	cr_expect(eq(u64, handed_to(0xb), 10 * MS));
}

Test(off_cpu, records_out_of_order_make_no_negative_times)
{
	start(false);
	off_cpu_begin(o, &thread, 10 * MS);
	in(11 * MS);
	out(9 * MS);
	in(8 * MS);
	finish(10 * MS, 12 * MS);
	cr_expect(eq(u64, thread.ns[METRIC_ON_CPU], MS));
	cr_expect(eq(u64, thread.ns[METRIC_OFF_RUNNABLE], MS));
}

Test(off_cpu, an_interval_that_never_ends_is_closed_with_the_thread)
{
	start(false);
	off_cpu_begin(o, &thread, MS);
	in(MS);
	out(10 * MS);
	look(20 * MS, PROBE_STACK, METRIC_OFF_NET, 0xa);
	finish(MS, 500 * MS);
	cr_expect(eq(u64, handed_to(0xa), 490 * MS));
}

// What the kernel would tell of a thread, and what goes missing of it.
static void random_step(uint64_t *state, uint64_t t)
{
	uint64_t r = random_below(state, UINT64_C(1) << 30);

	switch (r % 16) {
	case 0 ... 3:
		in(t);
		break;
	case 4 ... 6:
		out(t);
		break;
	case 7:
		preempt(t);
		break;
	case 8 ... 9:
		sample(t, 0x100 + r % 5, r % 3 ? IN_FUTEX : 0);
		break;
	case 10:
		thread.sampled_ns += r % (3 * MS);
		break;
	case 11:
		off_cpu_running(o, &thread, &(struct frame){ 0x200, 1, FRAME_EXACT }, 1, 0, t);
		break;
	default:
		look(t, (enum probe_result)(r / 16 % 4), (enum metric)(1 + r / 64 % 11), 0x300);
		break;
	}
}

Test(off_cpu, whatever_comes_the_sums_are_exact)
{
	for (uint64_t seed = 1; seed <= 400; seed++) {
		uint64_t state = seed, t = 1000 * MS;
		start(seed % 2);
		off_cpu_begin(o, &thread, t);
		in_python.there = seed % 3 == 0;
		for (unsigned i = 0; i < 300; i++) {
			in_python.line = (unsigned)(state >> 20) % 3;
			random_step(&state, t);
			t += (state >> 40) % (4 * MS);
		}
		finish(1000 * MS, t);
	}
}

Test(off_cpu, the_collector_sleeps_longer_when_no_thread_blocks)
{
	// What a look costs puts off the next one, and the first in a process costs more.
	start(false);
	off_cpu_begin(o, &thread, MS);
	in(MS);
	out(10 * MS);
	look(11 * MS, PROBE_STACK, METRIC_OFF_SLEEP, 0xa);
	finish(MS, 12 * MS);
	for (int samples = 0; samples < 2; samples++) {
		start(samples);
		off_cpu_begin(o, &thread, MS);
		in(MS);
		out(10 * MS);
		cr_expect(eq(int, off_cpu_timeout_ms(o, 11 * MS, 77), 0));
		look(11 * MS, PROBE_STACK, METRIC_OFF_SLEEP, 0xa);
		int wait = off_cpu_timeout_ms(o, 11 * MS, 77);
		cr_expect(ge(int, wait, 5));
		cr_expect(le(int, wait, 7));
		cr_expect(eq(int, off_cpu_timeout_ms(o, 11 * MS, 3), 3));
		for (uint64_t t = 20; t < 400; t += 10)
			look(t * MS, PROBE_STACK, METRIC_OFF_SLEEP, 0xa);
		cr_expect(eq(int, off_cpu_timeout_ms(o, 500 * MS, 77), samples ? 77 : 20));
		cr_expect(eq(int, off_cpu_timeout_ms(o, 500 * MS, 7), 7));
		finish(MS, 600 * MS);
	}
}
