// SPDX-License-Identifier: MIT
#include "merge/query/query_cycles.h"

#include "base/error.h"
#include "tests/support/expect.h"
#include "tests/unit/merge_fixture.h"

#include <stdio.h>

static struct fixture f;

static void begin(void)
{
	fixture_init(&f, NULL);
}

static void end(void)
{
	fixture_fini(&f);
}

TestSuite(query_cycles, .init = begin, .fini = end);

// COUNT steps of 10 ms, 2 ms apart, the first at 0.
static void steps(int count)
{
	for (int i = 0; i < count; i++, f.now_ns += 12 * MS)
		profile_add_op(f.profile, &(struct op_event){ .thread = 1,
		                                              .op = op_called(&f, "step"),
		                                              .begin_ns = f.now_ns,
		                                              .end_ns = f.now_ns + 10 * MS,
		                                              .self_ns = 10 * MS });
}

static struct run run_of(void)
{
	return (struct run){ .start_ns = 1000 * MS, .wall_ns = f.now_ns - 1000 * MS };
}

// "number: first+steps begin-end sum", in ms.
static const char *cycles_of(const struct run *run, const char *schedule)
{
	static char text[1024];
	struct error err = { .text = "" };
	size_t used = 0;

	cr_assert(eq(int, profile_set_run(f.profile, run, &err), 0), "%s", err.text);
	cleanup(cycles) struct cycles *c = query_cycles(f.profile, schedule, NULL, &err);
	cr_assert(ne(ptr, c, NULL), "%s", err.text);
	text[0] = '\0';
	for (size_t i = 0; i < c->count; i++) {
		const struct cycle_row *row = &c->rows[i];
		used += (size_t)snprintf(
			text + used, sizeof(text) - used, "%s%lu: %lu+%lu %lu-%lu %lu%s",
			i ? ", " : "", (unsigned long)row->number, (unsigned long)row->first,
			(unsigned long)row->steps, (unsigned long)(row->begin_ns / MS),
			(unsigned long)(row->end_ns / MS), (unsigned long)(row->steps_ns / MS),
			row->complete ? "" : " cut");
	}
	if (c->cut)
		snprintf(text + used, sizeof(text) - used, ", more");
	return text;
}

// A window goes on to the beginning of the next step, and at the end of all to that of the last
// one.
Test(query_cycles, in_the_steps_of_a_run)
{
	steps(12);
	struct run run = run_of();
	cr_expect(eq(str, (char *)cycles_of(&run, "wait=1,warmup=1,active=3,repeat=2"),
	             "1: 3+3 24-60 30, 2: 8+3 84-120 30"));
	cr_expect(eq(str, (char *)cycles_of(&run, "skip_first=3,active=4"),
	             "1: 4+4 36-84 40, 2: 8+4 84-132 40, 3: 12+1 132-142 10 cut"));
	cr_expect(eq(str, (char *)cycles_of(&run, "wait=20,active=1"), ""));
	cr_expect(eq(str, (char *)cycles_of(&run, NULL), ""));
}

Test(query_cycles, as_far_as_steps_are_kept_one_by_one)
{
	steps(2000);
	struct run run = run_of();
	cr_expect(eq(str, (char *)cycles_of(&run, "wait=509,active=2,repeat=2"),
	             "1: 510+2 6108-6132 20, more"));
}

// Those that were recorded are exact, whatever the steps tell.
Test(query_cycles, of_a_recording)
{
	steps(12);
	struct run run = run_of();
	run.recorded_schedule = "wait=1,active=2";
	run.recorded_steps = "step";
	run.recorded_cycles = "2 2 12000000 36000000;5 2 48000000 71000000;oops";
	cr_expect(eq(str, (char *)cycles_of(&run, NULL), "1: 2+2 12-36 20, 2: 5+2 48-71 20"));
	cr_expect(eq(str, (char *)cycles_of(&run, "wait=1,active=2"),
	             "1: 2+2 12-36 20, 2: 5+2 48-71 20"));
	cr_expect(eq(str, (char *)cycles_of(&run, "wait=3,active=1,repeat=1"), "1: 4+1 36-48 10"));
}
