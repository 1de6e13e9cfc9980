// SPDX-License-Identifier: MIT
#include "merge/record/recorded.h"

#include "base/error.h"
#include "base/op.h"
#include "merge/profile/profile.h"
#include "tests/support/expect.h"

static struct recorded r;
static struct ops *ops;
static uint32_t step, other;

static uint32_t op_called(const char *name)
{
	return ops_add(ops,
	               &(struct op){
			       .provider = OP_NVTX, .domain = "", .category = "", .name = name })
	        ->id;
}

static void begin(void)
{
	ops = ops_new();
	other = op_called("other");
	step = op_called("step");
}

static void end(void)
{
	recorded_fini(&r);
	ops_free(ops);
}

TestSuite(recorded, .init = begin, .fini = end);

static void ask(uint64_t delay_ns, uint64_t duration_ns, const char *range)
{
	recorded_init(&r, delay_ns, duration_ns, range, ops);
	recorded_start(&r, 1000);
}

// The parts of BEGIN to END that are recorded, together.
static uint64_t time_of(uint64_t at, uint64_t end_ns)
{
	struct recorded_span part;
	uint64_t sum = 0, before = at;

	while (recorded_next(&r, &at, end_ns, &part)) {
		cr_expect(part.from_ns >= before && part.from_ns < part.to_ns && part.to_ns == at);
		before = at;
		sum += part.to_ns - part.from_ns;
	}
	return sum;
}

static struct run told(uint64_t wall_ns)
{
	struct run run = { .start_ns = 1000, .wall_ns = wall_ns };

	recorded_tell(&r, &run);
	return run;
}

Test(recorded, all_if_nothing_is_asked_for)
{
	ask(0, 0, NULL);
	cr_expect(not(recorded_is_partial(&r)));
	cr_expect(recorded_has(&r, 0));
	cr_expect(eq(u64, time_of(5, 5000), 4995));
	cr_expect(eq(u64, told(100).recorded_to_ns, 0));
}

Test(recorded, delay_and_duration)
{
	ask(200, 300, NULL);
	cr_expect(not(recorded_has(&r, 1199)));
	cr_expect(recorded_has(&r, 1200));
	cr_expect(recorded_has(&r, 1499));
	cr_expect(not(recorded_has(&r, 1500)));
	cr_expect(eq(u64, time_of(1000, 1250), 50));
	cr_expect(eq(u64, time_of(1100, 2000), 300));
	struct run run = told(1000);
	cr_expect(eq(u64, run.recorded_from_ns, 200));
	cr_expect(eq(u64, run.recorded_to_ns, 500));
	cr_expect(eq(u64, run.recorded_ns, 300));
}

Test(recorded, until_the_end_of_the_run)
{
	ask(200, 0, NULL);
	struct run run = told(1000);
	cr_expect(eq(u64, run.recorded_from_ns, 200));
	cr_expect(eq(u64, run.recorded_to_ns, 1000));
	cr_expect(eq(u64, run.recorded_ns, 800));
}

Test(recorded, nothing_of_a_run_that_is_shorter_than_the_delay)
{
	ask(200, 0, NULL);
	struct run run = told(100);
	cr_expect(eq(u64, run.recorded_ns, 0));
}

Test(recorded, while_a_range_is_open)
{
	ask(0, 0, "st*");
	cr_expect(not(recorded_has(&r, 1000)));
	recorded_op_begins(&r, other, 1, 1100);
	cr_expect(not(recorded_has(&r, 1150)));
	recorded_op_begins(&r, step, 1, 1200);
	cr_expect(recorded_has(&r, 1250));
	recorded_op_ends(&r, other, 1, 1260);
	recorded_op_ends(&r, step, 1, 1300);
	cr_expect(not(recorded_has(&r, 1300)));
	cr_expect(recorded_has(&r, 1250), "what is heard of later");
	recorded_op_begins(&r, step, 1, 1400);
	cr_expect(eq(u64, time_of(1000, 1450), 150));
	struct run run = told(600);
	cr_expect(eq(u64, run.recorded_from_ns, 200));
	cr_expect(eq(u64, run.recorded_to_ns, 600));
	cr_expect(eq(u64, run.recorded_ns, 300));
	cr_expect(eq(str, (char *)run.recorded_range, "st*"));
}

// Of several threads, or within itself.
Test(recorded, as_long_as_one_of_several_is_open)
{
	ask(0, 0, "step");
	recorded_op_begins(&r, step, 1, 1100);
	recorded_op_begins(&r, step, 1, 1200);
	recorded_op_ends(&r, step, 1, 1300);
	cr_expect(recorded_has(&r, 1350));
	recorded_op_ends(&r, step, 1, 1400);
	recorded_op_ends(&r, step, 1, 1450); // one whose beginning was lost
	cr_expect(not(recorded_has(&r, 1500)));
	struct run run = told(1000);
	cr_expect(eq(u64, run.recorded_from_ns, 100));
	cr_expect(eq(u64, run.recorded_to_ns, 400));
	cr_expect(eq(u64, run.recorded_ns, 300));
}

Test(recorded, a_range_within_the_delay_and_the_duration)
{
	ask(150, 100, "step");
	recorded_op_begins(&r, step, 1, 1100);
	recorded_op_ends(&r, step, 1, 1170);
	recorded_op_begins(&r, step, 1, 1200);
	recorded_op_ends(&r, step, 1, 1400);
	cr_expect(not(recorded_has(&r, 1120)));
	cr_expect(recorded_has(&r, 1160));
	cr_expect(not(recorded_has(&r, 1300)));
	struct run run = told(1000);
	cr_expect(eq(u64, run.recorded_from_ns, 150));
	cr_expect(eq(u64, run.recorded_to_ns, 250));
	cr_expect(eq(u64, run.recorded_ns, 20 + 50));
}

Test(recorded, a_program_stops_and_starts_it)
{
	ask(0, 0, NULL);
	recorded_gate(&r, true, 1050); // as it is already
	cr_expect(not(recorded_is_partial(&r)));
	cr_expect(eq(u64, r.open_again_ns, 50));
	recorded_gate(&r, false, 1200);
	recorded_gate(&r, false, 1300);
	cr_expect(recorded_has(&r, 1000), "from the start of the run on");
	cr_expect(recorded_has(&r, 1199));
	cr_expect(not(recorded_has(&r, 1200)));
	recorded_gate(&r, true, 1600);
	cr_expect(not(recorded_has(&r, 1599)));
	cr_expect(recorded_has(&r, 1600));
	cr_expect(eq(u64, time_of(1000, 2000), 200 + 400));
	struct run run = told(1000);
	cr_expect(eq(u64, run.recorded_from_ns, 0));
	cr_expect(eq(u64, run.recorded_to_ns, 1000));
	cr_expect(eq(u64, run.recorded_ns, 600));
	cr_expect(eq(u64, run.recorded_gates, 2));
}

Test(recorded, a_run_that_starts_stopped)
{
	recorded_init(&r, 0, 0, NULL, ops);
	recorded_start_stopped(&r);
	recorded_start(&r, 1000);
	cr_expect(not(recorded_has(&r, 1100)));
	cr_expect(eq(u64, told(1000).recorded_ns, 0));
	recorded_gate(&r, true, 1200);
	recorded_gate(&r, false, 1500);
	cr_expect(eq(u64, time_of(1000, 2000), 300));
	struct run run = told(1000);
	cr_expect(eq(u64, run.recorded_from_ns, 200));
	cr_expect(eq(u64, run.recorded_to_ns, 500));
	cr_expect(eq(u64, run.recorded_ns, 300));
}

Test(recorded, gates_within_the_delay_and_the_duration)
{
	ask(100, 400, NULL);
	recorded_gate(&r, false, 1050);
	recorded_gate(&r, true, 1200);
	recorded_gate(&r, false, 1150); // of another thread, which is late
	recorded_gate(&r, true, 1300);
	cr_expect(eq(u64, time_of(1000, 2000), 200));
	cr_expect(eq(u64, told(1000).recorded_ns, 200));
}

Test(recorded, a_range_overrules_gates)
{
	ask(0, 0, "st*");
	recorded_gate(&r, false, 1050);
	recorded_op_begins(&r, step, 1, 1200);
	cr_expect(recorded_has(&r, 1250));
	cr_expect(eq(u64, r.overruled, 1));
	cr_expect(eq(u64, r.gates, 0));
}

Test(recorded, a_million_calls_take_no_more_room_and_none_is_forgotten_in_the_sum)
{
	ask(0, 0, "step");
	for (uint64_t i = 0; i < 1000000; i++) {
		recorded_op_begins(&r, step, 1, 2000 + 10 * i);
		recorded_op_ends(&r, step, 1, 2004 + 10 * i);
	}
	cr_expect(eq(u64, told(20000000).recorded_ns, 4000000));
	cr_expect(eq(u64, time_of(2000 + 9999000, 2000 + 10000000), 400));
	cr_expect(eq(u64, time_of(0, 20000000), 4 * RECORDED_SPANS));
}

static void schedule(const char *text)
{
	struct error err = { .text = "" };

	ask(0, 0, NULL);
	recorded_fini(&r);
	recorded_init(&r, 0, 0, NULL, ops);
	cr_assert(eq(int, recorded_schedule(&r, text, "st*", &err), 0), "%s", err.text);
	recorded_start(&r, 1000);
}

// COUNT steps of LENGTH from BEGIN_NS on, a gap after each.
static void steps(uint64_t begin_ns, int count, uint64_t length, uint64_t gap)
{
	for (int i = 0; i < count; i++, begin_ns += length + gap) {
		recorded_op_begins(&r, step, 1, begin_ns);
		recorded_op_begins(&r, other, 1, begin_ns + 1);
		recorded_op_ends(&r, other, 1, begin_ns + 2);
		recorded_op_ends(&r, step, 1, begin_ns + length);
	}
}

Test(recorded, the_active_steps_of_a_schedule)
{
	schedule("skip_first=1,wait=1,warmup=1,active=2,repeat=2");
	cr_expect(recorded_is_partial(&r));
	cr_expect(not(recorded_has(&r, 1500)));
	steps(2000, 12, 90, 10); // the first one is 1
	cr_expect(not(recorded_has(&r, 2299)));
	cr_expect(recorded_has(&r, 2300), "step 4 begins");
	cr_expect(recorded_has(&r, 2499), "the gap behind step 5 belongs to it");
	cr_expect(not(recorded_has(&r, 2500)), "step 6 begins");
	cr_expect(recorded_has(&r, 2750));
	cr_expect(eq(u64, time_of(1000, 9000), 400));
	cr_expect(recorded_is_step(&r, step));
	cr_expect(not(recorded_is_step(&r, other)));
	struct run run = told(5000);
	cr_expect(eq(str, (char *)run.recorded_cycles, "4 2 1300 1500;8 2 1700 1900"));
	cr_expect(eq(str, (char *)run.recorded_steps, "st*"));
	cr_expect(eq(u64, run.recorded_ns, 400));
	cr_expect(eq(u64, run.recorded_from_ns, 1300));
	cr_expect(eq(u64, run.recorded_to_ns, 1900));
}

Test(recorded, a_cycle_that_the_end_of_the_run_cuts)
{
	schedule("wait=1,active=3");
	steps(2000, 3, 90, 10);
	struct run run = told(5000);
	cr_expect(eq(str, (char *)run.recorded_cycles, "2 2 1100 1290"),
	          "the last step ends with its call");
	cr_expect(eq(u64, run.recorded_ns, 190));
	cr_expect(eq(u64, run.recorded_to_ns, 1290));
}

// Where calls only mark where steps begin, nothing says where the last one ends.
Test(recorded, a_cycle_of_marks_goes_on_to_the_end)
{
	schedule("wait=1,active=3");
	steps(2000, 3, 5, 95);
	cr_expect(eq(str, (char *)told(5000).recorded_cycles, "2 2 1100 5000"));
}

Test(recorded, steps_are_those_of_one_thread)
{
	schedule("wait=1,active=1,repeat=1");
	recorded_op_begins(&r, step, 1, 2000);
	recorded_op_begins(&r, step, 2, 2010);
	recorded_op_ends(&r, step, 2, 2050);
	recorded_op_ends(&r, step, 1, 2090);
	recorded_op_begins(&r, step, 2, 2095);
	cr_expect(not(recorded_has(&r, 2097)));
	recorded_op_begins(&r, step, 1, 2100);
	cr_expect(recorded_has(&r, 2150));
}
