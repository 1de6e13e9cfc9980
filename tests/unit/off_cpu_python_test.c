// SPDX-License-Identifier: MIT
// Waits of threads that run Python, and for its lock.
#include "tests/support/expect.h"
#include "tests/unit/off_cpu_fixture.h"

// A wait of which a sample tells, and a look in the middle of it that finds LINE (0: there is
// none).
static void wait_in_python(uint64_t from_ns, uint64_t to_ns, uint64_t pc, unsigned line)
{
	sample(from_ns, pc, IN_FUTEX);
	out(from_ns + 1);
	in_python.line = line;
	if (line)
		look((from_ns + to_ns) / 2, PROBE_STACK, METRIC_OFF_LOCK, pc);
	in(to_ns);
}

static void start_in_python(bool switch_samples)
{
	start(switch_samples);
	in_python.there = true;
	off_cpu_begin(o, &thread, MS);
	in(MS);
}

Test(off_cpu_python, a_look_adds_python_to_what_a_sample_has_told)
{
	start_in_python(true);
	wait_in_python(10 * MS, 30 * MS, 0xa, 7);
	finish(MS, 40 * MS);
	cr_expect(eq(u64, handed_to(PYTHON + 7), 20 * MS - 1));
	cr_expect(eq(u64, handed_to(0xa), 0));
	cr_expect(eq(u64, handed_ns[METRIC_OFF_LOCK], 20 * MS - 1));
}

Test(off_cpu_python, a_look_that_was_not_over_when_the_thread_went_on_adds_nothing)
{
	start_in_python(true);
	sample(10 * MS, 0xa, IN_FUTEX);
	out(10 * MS + 1);
	in_python.line = 7;
	in_python.until_ns = 31 * MS;
	look(29 * MS, PROBE_STACK, METRIC_OFF_LOCK, 0xa);
	in(30 * MS);
	finish(MS, 40 * MS);
	cr_expect(eq(u64, handed_to(PYTHON + 7), 0));
	cr_expect(eq(u64, handed_to(0xa), 20 * MS - 1), "as if there had been no look");
}

Test(off_cpu_python, short_waits_go_with_one_at_the_same_native_stack_that_a_look_has_met)
{
	start_in_python(true);
	wait_in_python(10 * MS, 11 * MS, 0xa, 0);
	wait_in_python(12 * MS, 13 * MS, 0xb, 0);
	wait_in_python(14 * MS, 15 * MS, 0xa, 0);
	wait_in_python(20 * MS, 30 * MS, 0xa, 7);
	wait_in_python(31 * MS, 32 * MS, 0xa, 0); // waits for the next look there
	wait_in_python(40 * MS, 50 * MS, 0xa, 8);
	finish(MS, 60 * MS);
	cr_expect(eq(u64, handed_to(PYTHON + 7), 12 * MS - 3));
	cr_expect(eq(u64, handed_to(PYTHON + 8), 11 * MS - 2));
	cr_expect(eq(u64, handed_to(0xa), 0));
	cr_expect(eq(u64, handed_to(0xb), MS - 1), "no look has met it");
	cr_expect(eq(u32, handed[0].samples, 0), "others of the look's stack");
}

// The records come a moment late: by those it sleeps still, for which it has been looked at.
Test(off_cpu_python, a_wait_is_met_that_is_shorter_than_the_records_are_late)
{
	start_in_python(true);
	sample(10 * MS, 0xb, IN_NANOSLEEP);
	out(10 * MS + 1);
	in_python.line = 5;
	look(11 * MS, PROBE_STACK, METRIC_OFF_SLEEP, 0xb);
	in_python.line = 7;
	look(35 * MS / 2, PROBE_STACK, METRIC_OFF_LOCK, 0xa);
	in(16 * MS);
	wait_in_python(17 * MS, 18 * MS, 0xa, 0);
	finish(MS, 40 * MS);
	cr_expect(eq(u32, next_look.looks, 2));
	cr_expect(eq(u64, handed_to(PYTHON + 7), MS - 1));
	cr_expect(eq(u64, handed_to(0xa), 0));
}

Test(off_cpu_python, a_long_wait_is_looked_at_once)
{
	start_in_python(true);
	sample(10 * MS, 0xa, IN_FUTEX);
	out(10 * MS + 1);
	in_python.line = 7;
	for (uint64_t t = 16; t < 200; t += 10)
		look(t * MS, PROBE_STACK, METRIC_OFF_LOCK, 0xa);
	cr_expect(eq(u32, next_look.looks, 1));
	in(300 * MS);
	finish(MS, 301 * MS);
}

static uint64_t place_of(uint64_t pc, uint32_t flags)
{
	static const uint64_t sps[STACK_MAX_FRAMES];
	struct frame frame = { pc, 1, FRAME_EXACT };

	return off_cpu_place_of(&frame, sps, 1, flags);
}

// A sample on the CPU in a system call, that PC has made in LINE of Python.
static void seen(uint64_t time_ns, uint64_t pc, unsigned line)
{
	const struct frame frames[] = { { PYTHON + line, 0, FRAME_PYTHON } };

	off_cpu_seen(o, &thread, place_of(pc, 0), frames, 1, time_ns);
}

Test(off_cpu_python, waits_between_samples_of_one_line_at_the_same_native_stack_are_in_that_line)
{
	start_in_python(true);
	wait_in_python(10 * MS, 11 * MS, 0xa, 0);
	for (unsigned i = 0; i < SIGHTINGS_MIN; i++) {
		cr_expect(eq(u64, handed_to(PYTHON + 7), 0), "%u are too few", i);
		wait_in_python((20 + 10 * i) * MS, (21 + 10 * i) * MS, 0xa, 0);
		wait_in_python((22 + 10 * i) * MS, (23 + 10 * i) * MS, 0xb, 0);
		seen((25 + 10 * i) * MS, 0xa, 7);
	}
	cr_expect(eq(u64, handed_to(0xa), (1 + SIGHTINGS_MIN) * (MS - 1)),
	          "some are older than the samples");
	wait_in_python(60 * MS, 61 * MS, 0xa, 0);
	wait_in_python(62 * MS, 63 * MS, 0xa, 0);
	seen(65 * MS, 0xa, 7);
	wait_in_python(70 * MS, 71 * MS, 0xa, 0); // no sample comes after it
	finish(MS, 80 * MS);
	cr_expect(eq(u64, handed_to(PYTHON + 7), 2 * (MS - 1)));
	cr_expect(eq(u64, handed_to(0xa), (2 + SIGHTINGS_MIN) * (MS - 1)));
	cr_expect(eq(u64, handed_to(0xb), SIGHTINGS_MIN * (MS - 1)));
}

// One call of the interpreter runs several lines: the native stack is the same.
Test(off_cpu_python, samples_in_two_lines_at_the_same_native_stack_explain_no_wait_there)
{
	start_in_python(true);
	for (unsigned i = 0; i < 40; i++) {
		wait_in_python((10 + 10 * i) * MS, (11 + 10 * i) * MS, 0xa, 0);
		seen((15 + 10 * i) * MS, 0xa, i % 8 == 7 ? 8 : 7);
	}
	cr_expect(eq(u64, handed_to(PYTHON + 8), 0));
	cr_expect(eq(u64, handed_to(PYTHON + 7), 4 * (MS - 1)), "before the second line was seen");
	in_python.line = 8;
	wait_in_python(420 * MS, 430 * MS, 0xa, 8); // a look stands for those that are left
	finish(MS, 440 * MS);
	cr_expect(eq(u64, handed_to(0xa), 3 * (MS - 1)));
	cr_expect(eq(u64, handed_to(PYTHON + 8), 10 * MS - 1 + 33 * (MS - 1)));
}

Test(off_cpu_python, a_look_in_another_line_disqualifies_samples_at_the_same_native_stack)
{
	start_in_python(true);
	wait_in_python(10 * MS, 11 * MS, 0xa, 0);
	for (unsigned i = 0; i < SIGHTINGS_MIN; i++)
		seen((12 + i) * MS, 0xa, 7);
	wait_in_python(20 * MS, 40 * MS, 0xa, 8);
	for (unsigned i = 0; i < 10; i++) {
		wait_in_python((50 + 10 * i) * MS, (51 + 10 * i) * MS, 0xa, 0);
		seen((55 + 10 * i) * MS, 0xa, 7);
	}
	cr_expect(eq(u64, handed_to(PYTHON + 7), 0));
	finish(MS, 200 * MS);
}

Test(off_cpu_python, samples_that_are_far_apart_explain_no_wait_between_them)
{
	start_in_python(true);
	for (uint64_t s = 1; s < 10; s++) {
		wait_in_python((2000 * s + 10) * MS, (2000 * s + 11) * MS, 0xa, 0);
		seen((2000 * s + 20) * MS, 0xa, 7);
	}
	cr_expect(eq(u64, handed_to(PYTHON + 7), 0));
	finish(MS, 20000 * MS);
}

Test(off_cpu_python, a_wait_for_the_gil_that_a_sample_explains_stays_marked)
{
	start_in_python(true);
	in_python.gil = next_look.futex = 0x1234;
	for (unsigned i = 0; i < SIGHTINGS_MIN + 1; i++) {
		wait_in_python((10 + 10 * i) * MS, (11 + 10 * i) * MS, 0xa, 0);
		seen((15 + 10 * i) * MS, 0xa, 7);
	}
	const struct stack *last = &handed[handed_count - 1];
	cr_expect(eq(u64, handed_to(MARK_GIL), (SIGHTINGS_MIN + 1) * (MS - 1)));
	cr_expect(eq(u32, last->count, 2), "the mark, and the line");
	finish(MS, 100 * MS);
}

Test(off_cpu_python, a_sample_shows_a_call_if_its_python_frames_were_read_in_it)
{
	const struct python_chain frames = { 0 };
	const uint64_t kernel = IN_FUTEX;
	const struct {
		const char *what;
		struct event_sample sample;
		bool shows;
	} cases[] = {
		{ "in a call", { .has_user = true, .python = &frames, .in_kernel = true }, true },
		{ "with a kernel chain",
		  { .has_user = true, .python = &frames, .kernel = &kernel, .kernel_count = 1 },
		  true },
		{ "in user code", { .has_user = true, .python = &frames }, false },
		{ "in a page fault",
		  { .has_user = true, .python = &frames, .in_kernel = true, .by_fault = true },
		  false },
		{ "frames that are read later", { .has_user = true, .in_kernel = true }, false },
		{ "no stack", { .python = &frames, .in_kernel = true }, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		cr_expect(eq(int, off_cpu_shows_call(&cases[i].sample), cases[i].shows), "%s",
		          cases[i].what);
}

Test(off_cpu_python, a_stack_that_is_not_exact_is_no_place)
{
	cr_expect(ne(u64, place_of(0xa, 0), 0));
	cr_expect(eq(u64, place_of(0xa, STACK_TRUNCATED), 0));
	cr_expect(eq(u64, place_of(0xa, STACK_GUESSED), 0));
	cr_expect(eq(u64, place_of(0xa, STACK_JOINED), 0));
}

// exec() without address space randomization: the other program's stacks may be at the same place.
Test(off_cpu_python, what_was_seen_of_a_program_explains_no_wait_of_the_next)
{
	start_in_python(true);
	wait_in_python(10 * MS, 11 * MS, 0xa, 0);
	for (unsigned i = 0; i < SIGHTINGS_MIN; i++)
		seen((12 + i) * MS, 0xa, 7);
	wait_piles_forget(&thread.off_cpu.python.piles);
	wait_in_python(20 * MS, 21 * MS, 0xa, 0);
	seen(25 * MS, 0xa, 7);
	cr_expect(eq(u64, handed_to(PYTHON + 7), 0));
	finish(MS, 30 * MS);
}

Test(off_cpu_python, without_samples_of_switches_nothing_is_kept_of_samples)
{
	start_in_python(false);
	out(10 * MS);
	in(11 * MS);
	seen(12 * MS, 0xa, 7);
	cr_expect(eq(ptr, thread.off_cpu.python.piles.sightings, NULL));
	finish(MS, 30 * MS);
}

Test(off_cpu_python, waits_do_not_wait_for_ever_for_a_look)
{
	start_in_python(true);
	wait_in_python(10 * MS, 11 * MS, 0xa, 0);
	wait_in_python(3000 * MS, 3001 * MS, 0xa, 0);
	cr_expect(eq(u64, handed_to(0xa), MS - 1));
	wait_in_python(3020 * MS, 3030 * MS, 0xa, 7);
	finish(MS, 3040 * MS);
	cr_expect(eq(u64, handed_to(PYTHON + 7), 11 * MS - 2));
}

Test(off_cpu_python, more_stacks_than_are_kept_push_out_the_oldest)
{
	start_in_python(true);
	for (uint64_t i = 0; i < WAIT_PILES_MAX + 2; i++)
		wait_in_python((10 + 2 * i) * MS, (11 + 2 * i) * MS, 0x100 + i, 0);
	cr_expect(eq(u64, handed_to(0x100), MS - 1));
	cr_expect(eq(u64, handed_to(0x101), MS - 1));
	cr_expect(eq(u64, handed_to(0x102), 0));
	finish(MS, 100 * MS);
	cr_expect(eq(u64, handed_to(0x102), MS - 1));
}

Test(off_cpu_python, a_thread_without_python_does_not_wait_for_looks)
{
	start_in_python(true);
	sample(10 * MS, 0xa, IN_FUTEX);
	out(10 * MS + 1);
	look(20 * MS, PROBE_STACK, METRIC_OFF_LOCK, 0xa); // finds no line
	look(40 * MS, PROBE_STACK, METRIC_OFF_LOCK, 0xa); // nor again
	look(60 * MS, PROBE_STACK, METRIC_OFF_LOCK, 0xa);
	cr_expect(eq(u32, next_look.looks, 2));
	in(80 * MS);
	cr_expect(eq(u64, handed_to(0xa), 70 * MS - 1));
	wait_in_python(90 * MS, 91 * MS, 0xa, 0);
	cr_expect(eq(u64, handed_to(0xa), 71 * MS - 2));
	finish(MS, 100 * MS);
}

Test(off_cpu_python, a_look_that_misses_python_is_made_again)
{
	start_in_python(false);
	out(10 * MS);
	look(20 * MS, PROBE_STACK, METRIC_OFF_LOCK, 0xa);
	in_python.line = 7;
	look(40 * MS, PROBE_STACK, METRIC_OFF_LOCK, 0xa);
	in(80 * MS);
	finish(MS, 100 * MS);
	cr_expect(eq(u64, handed_to(PYTHON + 7), 70 * MS));
}

Test(off_cpu_python, without_samples_the_look_tells_it_all)
{
	start_in_python(false);
	out(10 * MS);
	in_python.line = 7;
	look(20 * MS, PROBE_STACK, METRIC_OFF_LOCK, 0xa);
	in(30 * MS);
	finish(MS, 40 * MS);
	cr_expect(eq(u64, handed_to(PYTHON + 7), 20 * MS));
}

Test(off_cpu_python, estimated_switches_prove_nothing)
{
	start_in_python(false);
	open_with((struct off_cpu_options){ .estimated = true });
	out(10 * MS);
	in_python.line = 7;
	look(20 * MS, PROBE_STACK, METRIC_OFF_LOCK, 0xa); // the fake kernel counts no turns
	in(30 * MS);
	finish(MS, 40 * MS);
	cr_expect(eq(u64, handed_to(PYTHON + 7), 0));
	cr_expect(eq(u64, handed_to(0xa), 20 * MS));
}

Test(off_cpu_python, who_waits_already_when_python_is_found_is_looked_at_again)
{
	start(false);
	off_cpu_begin(o, &thread, MS);
	in(MS);
	out(10 * MS);
	look(20 * MS, PROBE_STACK, METRIC_OFF_LOCK, 0xa);
	in_python.there = true;
	in_python.line = 7;
	look(40 * MS, PROBE_STACK, METRIC_OFF_LOCK, 0xa);
	cr_expect(eq(u32, next_look.looks, 1), "one is enough otherwise");
	off_cpu_again(o, &thread);
	look(60 * MS, PROBE_STACK, METRIC_OFF_LOCK, 0xa);
	in(100 * MS);
	finish(MS, 110 * MS);
	cr_expect(eq(u64, handed_to(PYTHON + 7), 90 * MS));
}

Test(off_cpu_python, a_wait_for_the_gil_is_marked)
{
	start_in_python(true);
	in_python.gil = 0x1234;
	next_look.futex = 0x1234;
	wait_in_python(10 * MS, 30 * MS, 0xa, 7);
	next_look.futex = 0x1235;
	wait_in_python(40 * MS, 50 * MS, 0xa, 7);
	finish(MS, 60 * MS);
	cr_expect(eq(u64, handed_to(MARK_GIL), 20 * MS - 1));
	cr_expect(eq(u64, handed_to(PYTHON + 7), 10 * MS - 1));
}

Test(off_cpu_python, who_holds_the_gil_at_a_look_has_held_it_since_the_last)
{
	start_in_python(false);
	thread.tid = process.pid; // one look for each process
	process.python.remote = (struct python_remote *)&process;
	in_python.gil = 0x1234;
	for (uint64_t ms = 20; ms <= 500; ms += 40) {
		out(ms * MS);
		in_python.line = 7;
		look((ms + 20) * MS, PROBE_STACK, METRIC_OFF_SLEEP, 0xa);
		in((ms + 30) * MS);
	}
	cr_expect(eq(u64, thread.gil_held_ns, 480 * MS), "from the first look to the last");
	finish(MS, 600 * MS);
}
