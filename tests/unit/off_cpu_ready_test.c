// SPDX-License-Identifier: MIT
// Time in which a thread is ready to run.
#include "tests/support/expect.h"
#include "tests/unit/off_cpu_fixture.h"

Test(off_cpu_ready, a_preempted_thread_is_runnable_whatever_its_kernel_stack_says)
{
	start(true);
	off_cpu_begin(o, &thread, MS);
	in(MS);
	sample(2 * MS, 0xa, IN_FUTEX);
	preempt(2 * MS);
	in(5 * MS);
	preempt(6 * MS); // without a sample: its time is pending until the next stack
	in(10 * MS);
	preempt(12 * MS);
	sample(12 * MS + 1, 0xb, 0);
	in(13 * MS);
	finish(MS, 15 * MS);
	cr_expect(eq(u64, thread.ns[METRIC_OFF_RUNNABLE], 8 * MS));
	cr_expect(eq(u64, handed_to(0xa), 3 * MS));
	cr_expect(eq(u64, handed_to(0xb), 5 * MS));
}

Test(off_cpu_ready, preempted_time_goes_to_the_next_sample_on_the_cpu)
{
	struct frame frame = { 0xc, 1, FRAME_EXACT };

	start(false);
	off_cpu_begin(o, &thread, MS);
	in(MS);
	preempt(2 * MS);
	in(5 * MS);
	off_cpu_running(o, &thread, &frame, 1, 0, 5 * MS + 500);
	finish(MS, 6 * MS);
	cr_expect(eq(u64, handed_to(0xc), 3 * MS));
	cr_expect(eq(u32, handed[0].samples, 0));
	cr_expect(eq(u64, handed[0].time_ns, 2 * MS));
}

Test(off_cpu_ready, preempted_time_goes_to_a_sample_in_the_same_ops)
{
	start(false);
	off_cpu_begin(o, &thread, 0);
	in(0);
	begin_op(1, MS);
	preempt(2 * MS);
	in(12 * MS);
	end_op(MS);
	begin_op(2, 13 * MS);
	tick(14 * MS, 0xb);
	cr_expect(eq(u64, handed_to(0xb), 0), "it was in another op");
	end_op(13 * MS);
	begin_op(1, 15 * MS);
	tick(16 * MS, 0xa);
	cr_expect(eq(u64, handed_to(0xa), 10 * MS));
	cr_expect(eq(u64, handed[0].time_ns, 2 * MS));
	end_op(15 * MS);
	finish(0, 17 * MS);
	op_stack_fini(&thread.ops);
}

Test(off_cpu_ready, preempted_time_in_ops_that_are_over_goes_to_the_sample_before)
{
	start(false);
	off_cpu_begin(o, &thread, 0);
	in(0);
	begin_op(1, MS);
	tick(2 * MS, 0xa);
	preempt(3 * MS);
	in(13 * MS);
	end_op(MS);
	tick(14 * MS, 0xb);
	cr_expect(eq(u64, handed_to(0xa), 10 * MS));
	cr_expect(eq(u64, handed_to(0xb), 0));
	finish(0, 15 * MS);
	op_stack_fini(&thread.ops);
}

Test(off_cpu_ready, preempted_time_of_which_no_sample_tells_has_its_ops)
{
	start(false);
	off_cpu_begin(o, &thread, 0);
	in(0);
	tick(MS, 0xb);
	begin_op(1, 2 * MS);
	begin_op(2, 3 * MS);
	preempt(4 * MS);
	in(9 * MS);
	end_op(3 * MS);
	end_op(2 * MS);
	off_cpu_end(o, &thread, 10 * MS);
	cr_assert(eq(u64, handed_count, 1));
	cr_assert(eq(u32, handed[0].count, 3));
	cr_expect(eq(u64, handed[0].weight_ns, 5 * MS));
	cr_expect(eq(u64, handed[0].frames[0].address, MARK_UNKNOWN));
	cr_expect(eq(u64, handed[0].frames[1].address, 2), "the innermost op");
	cr_expect(eq(u64, handed[0].frames[2].address, 1));
	cr_expect(eq(u32, handed[0].frames[2].kind, FRAME_OP));
	finish(0, 10 * MS);
	op_stack_fini(&thread.ops);
}

Test(off_cpu_ready, more_ops_than_are_kept_push_out_the_oldest_time)
{
	start(false);
	off_cpu_begin(o, &thread, 0);
	in(0);
	for (uint32_t i = 0; i < WAIT_PILES_MAX + 3; i++) {
		begin_op(1 + i, 10 * i * MS + MS);
		preempt(10 * i * MS + 2 * MS);
		in(10 * i * MS + 4 * MS);
		end_op(10 * i * MS + MS);
	}
	cr_expect(eq(u64, handed_ns[METRIC_OFF_RUNNABLE], 3 * 2 * MS));
	cr_expect(eq(u64, handed[0].time_ns, 2 * MS));
	finish(0, 200 * MS);
	op_stack_fini(&thread.ops);
}
