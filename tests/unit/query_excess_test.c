// SPDX-License-Identifier: MIT
#include "merge/query/query_excess.h"

#include "base/error.h"
#include "tests/support/expect.h"
#include "tests/unit/merge_fixture.h"

#define STEPS 20

static struct fixture f;

static void begin(void)
{
	fixture_init(&f, NULL);
}

static void end(void)
{
	fixture_fini(&f);
}

TestSuite(query_excess, .init = begin, .fini = end);

static void run_for(uint64_t ms, const char *stack)
{
	for (; ms; ms--, f.now_ns += MS)
		add(&f, 1, METRIC_ON_CPU, 1, stack);
}

// The step that began at START_NS ends now.
static void end_step(uint64_t start_ns)
{
	profile_add_op(f.profile, &(struct op_event){ .thread = 1,
	                                              .op = op_called(&f, "step"),
	                                              .begin_ns = start_ns,
	                                              .end_ns = f.now_ns,
	                                              .self_ns = f.now_ns - start_ns });
}

static struct steps *steps_of(void)
{
	const struct run run = { .start_ns = 1000 * MS, .wall_ns = f.now_ns - 1000 * MS };
	const struct steps_query query = { 0 };
	struct error err = { 0 };

	name_all(&f);
	cr_assert(profile_set_run(f.profile, &run, NULL) == 0);
	struct steps *steps = query_steps(f.profile, &query, &err);
	cr_assert(steps != NULL, "%s", err.text);
	return steps;
}

Test(query_excess, what_was_different_in_the_slowest)
{
	for (int i = 0; i < STEPS; i++) {
		uint64_t start_ns = f.now_ns;
		run_for(10, "main a.c:3 > compute a.c:9");
		if (i == 12) {
			add(&f, 1, METRIC_OFF_FILE, 40, "main a.c:3 > load io.c:7");
			f.now_ns += 40 * MS;
		}
		end_step(start_ns);
	}
	cleanup(steps) struct steps *s = steps_of();
	struct step_excess out[STEP_EXCESSES];
	cr_assert(eq(int, steps_explain(f.profile, s, 12, 1, out, NULL), 1));
	cr_expect(eq(str, out[0].name, "load"));
	cr_expect(eq(int, out[0].line, 7));
	cr_expect(eq(int, out[0].metric, METRIC_OFF_FILE));
	cr_expect(eq(u64, out[0].excess_ns, 40 * MS));
	cr_expect(eq(int, steps_explain(f.profile, s, 3, 1, out, NULL), 0),
	          "it was like the others");
}

// Which function called the library is what its author can change; the library's kernel is the same
// in all steps.
Test(query_excess, the_users_function_not_the_librarys)
{
	for (int i = 0; i < STEPS; i++) {
		uint64_t start_ns = f.now_ns;
		run_for(i == 9 ? 60 : 5,
		        "main a.c:3 > prepare a.c:21 > cblas_dgemm@libc > kernel@libc");
		run_for(20, "main a.c:4 > train a.c:33 > cblas_dgemm@libc > kernel@libc");
		end_step(start_ns);
	}
	cleanup(steps) struct steps *s = steps_of();
	struct step_excess out[STEP_EXCESSES];
	cr_assert(eq(int, steps_explain(f.profile, s, 9, 1, out, NULL), 1));
	cr_expect(eq(str, out[0].name, "prepare"));
	cr_expect(eq(int, out[0].line, 21));
	cr_expect(eq(u64, out[0].excess_ns, 55 * MS));
}

// Not the line where the function spends most at any time.
Test(query_excess, the_line_that_took_longer)
{
	for (int i = 0; i < STEPS; i++) {
		uint64_t start_ns = f.now_ns;
		run_for(40, "main a.c:3 > train a.c:33 > kernel@libc");
		run_for(i == 9 ? 30 : 1, "main a.c:3 > train a.c:35 > choose@libc");
		end_step(start_ns);
	}
	cleanup(steps) struct steps *s = steps_of();
	struct step_excess out[STEP_EXCESSES];
	cr_assert(eq(int, steps_explain(f.profile, s, 9, 1, out, NULL), 1));
	cr_expect(eq(str, out[0].name, "train"));
	cr_expect(eq(int, out[0].line, 35));
	cr_expect(eq(u64, out[0].excess_ns, 29 * MS));
}

Test(query_excess, of_the_first_steps_together)
{
	for (int i = 0; i < STEPS; i++) {
		uint64_t start_ns = f.now_ns;
		run_for(i < 3 ? 50 : 2, "main a.c:3 > choose a.c:12 > kernel@libc");
		run_for(i < 3 ? 30 : 10, "main a.c:4 > train a.c:33");
		end_step(start_ns);
	}
	cleanup(steps) struct steps *s = steps_of();
	struct step_excess out[STEP_EXCESSES];
	cr_assert(eq(int, steps_explain(f.profile, s, 0, 3, out, NULL), 2));
	cr_expect(eq(str, out[0].name, "choose"));
	cr_expect(eq(u64, out[0].excess_ns, 3 * 48 * MS));
	cr_expect(eq(str, out[1].name, "train"));
	cr_expect(eq(u64, out[1].excess_ns, 3 * 20 * MS));
}

// A helper that all parts of a step call says nothing: which of them was slow does.
Test(query_excess, the_caller_of_a_helper_that_others_call_too)
{
	for (int i = 0; i < STEPS; i++) {
		uint64_t start_ns = f.now_ns;
		run_for(i == 9 ? 60 : 5,
		        "main a.c:3 > prepare a.c:21 > multiply a.c:50 > kernel@libc");
		run_for(20, "main a.c:4 > train a.c:33 > multiply a.c:50 > kernel@libc");
		end_step(start_ns);
	}
	cleanup(steps) struct steps *s = steps_of();
	struct step_excess out[STEP_EXCESSES];
	cr_assert(eq(int, steps_explain(f.profile, s, 9, 1, out, NULL), 1));
	cr_expect(eq(str, out[0].name, "prepare"));
	cr_expect(eq(str, out[0].via, "multiply"));
	cr_expect(eq(int, out[0].line, 21));
	cr_expect(eq(u64, out[0].excess_ns, 55 * MS));
}

// Two calls of one helper from the loop itself: the line is what tells them apart.
Test(query_excess, the_line_of_the_loop_that_called_it)
{
	for (int i = 0; i < STEPS; i++) {
		uint64_t start_ns = f.now_ns;
		run_for(10, "main a.c:3 > multiply a.c:50");
		run_for(i == 4 ? 90 : 10, "main a.c:5 > multiply a.c:50");
		end_step(start_ns);
	}
	cleanup(steps) struct steps *s = steps_of();
	struct step_excess out[STEP_EXCESSES];
	cr_assert(eq(int, steps_explain(f.profile, s, 4, 1, out, NULL), 1));
	cr_expect(eq(str, out[0].name, "main"));
	cr_expect(eq(int, out[0].line, 5));
	cr_expect(eq(str, out[0].via, "multiply"));
	cr_expect(eq(u64, out[0].excess_ns, 80 * MS));
}

// Other threads do not count, whatever they do meanwhile.
Test(query_excess, of_the_steps_thread_alone)
{
	add_thread(&f, 2, 1, 101, "worker");
	for (int i = 0; i < STEPS; i++) {
		uint64_t start_ns = f.now_ns;
		if (i == 9)
			add(&f, 2, METRIC_OFF_LOCK, 60, "pool@libc > pthread_cond_wait@libc");
		run_for(i == 9 ? 60 : 5, "main a.c:3 > prepare a.c:21");
		end_step(start_ns);
	}
	cleanup(steps) struct steps *s = steps_of();
	struct step_excess out[STEP_EXCESSES];
	cr_assert(eq(int, steps_explain(f.profile, s, 9, 1, out, NULL), 1));
	cr_expect(eq(str, out[0].name, "prepare"));
}
