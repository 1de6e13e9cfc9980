// SPDX-License-Identifier: MIT
#include "merge/query/query_causes.h"

#include "tests/support/expect.h"
#include "tests/unit/merge_fixture.h"

static struct fixture f;

static void begin(void)
{
	fixture_init(&f, NULL);
}

static void end(void)
{
	fixture_fini(&f);
}

TestSuite(query_causes, .init = begin, .fini = end);

static void spend(uint32_t thread, uint64_t ms, const char *stack)
{
	for (; ms > 0; ms--, f.now_ns += MS)
		add(&f, thread, METRIC_ON_CPU, 1, stack);
}

static void wait(enum metric metric, uint64_t ms, const char *stack)
{
	add(&f, 1, metric, ms, stack);
	f.now_ns += ms * MS;
}

// Of a warm-up from FROM to TO.
static struct causes causes_of(uint64_t from_ms, uint64_t to_ms)
{
	const struct run run = { .start_ns = 1000 * MS, .wall_ns = f.now_ns - 1000 * MS };
	struct warmup_row row = { .begin_ns = from_ms * MS, .end_ns = to_ms * MS };
	const struct warmup_rows rows = {
		.verdict = WARMUP_INCLUDED, .steady_ns = to_ms * MS, .rows = &row, .count = 1
	};
	struct causes causes;
	uint64_t sum = 0;

	cr_assert(profile_set_run(f.profile, &run, NULL) == 0);
	name_all(&f);
	cr_assert(query_causes(f.profile, &rows, &causes, NULL) == 0);
	for (int i = 0; i < CAUSE_COUNT; i++)
		sum += causes.ns[i];
	cr_expect(eq(u64, sum, causes.all_ns));
	return causes;
}

#define COMPILE "main a.c:3 > {_compile /x/torch/_dynamo/convert_frame.py:9}"

Test(query_causes, what_is_done_only_while_it_warms_up)
{
	spend(1, 20, "main a.c:3 > setup a.c:5");
	spend(1, 60, COMPILE " > work a.c:9");
	wait(METRIC_OFF_FILE, 30, "main a.c:3 > work a.c:9 > read@libc");
	spend(1, 10, "main a.c:3 > work a.c:9");
	spend(1, 100, "main a.c:3 > work a.c:9");
	struct causes causes = causes_of(20, 120);
	cr_expect(eq(u64, causes.all_ns, 100 * MS));
	cr_expect(eq(u64, causes.samples, 70));
	cr_expect(eq(u64, causes.ns[CAUSE_COMPILER], 60 * MS));
	cr_expect(eq(u64, causes.ns[CAUSE_FILES], 30 * MS));
	cr_expect(eq(u64, causes.ns[CAUSE_NONE], 10 * MS));
}

Test(query_causes, what_is_done_all_the_time_is_none)
{
	for (int i = 0; i < 20; i++) {
		wait(METRIC_OFF_FILE, i < 5 ? 6 : 5, "main a.c:3 > read@libc");
		spend(1, i < 5 ? 4 : 5, "main a.c:3 > work a.c:9");
	}
	struct causes causes = causes_of(0, 50);
	cr_expect(eq(u64, causes.all_ns, 50 * MS));
	cr_expect(eq(u64, causes.ns[CAUSE_FILES], 5 * MS), "half of the time goes to files later");
	cr_expect(eq(u64, causes.ns[CAUSE_NONE], 45 * MS));
}

// Memory that is touched by an import is part of it.
Test(query_causes, the_outermost_that_tells_decides)
{
	spend(1, 10,
	      "main a.c:3 > {_find_and_load <frozen importlib._bootstrap>:9} > "
	      "asm_exc_page_fault@kernel");
	spend(1, 10, "main a.c:3 > asm_exc_page_fault@kernel > handle_mm_fault@kernel");
	spend(1, 100, "main a.c:3 > work a.c:9");
	struct causes causes = causes_of(0, 20);
	cr_expect(eq(u64, causes.ns[CAUSE_IMPORTS], 10 * MS));
	cr_expect(eq(u64, causes.ns[CAUSE_FAULTS], 10 * MS));
}

Test(query_causes, compilers_are_known_by_their_names_as_programs_and_threads)
{
	add_process(&f, 2, 200, "cc1plus");
	add_thread(&f, 2, 2, 200, "cc1plus");
	add_thread(&f, 3, 1, 300, "C2 CompilerThre");
	spend(2, 30, "main x.c:1");
	spend(3, 20, "compile y.c:1");
	wait(METRIC_OFF_RUNNABLE, 10, "main a.c:3 > work a.c:9");
	spend(1, 10, "main a.c:3 > work a.c:9");
	spend(1, 100, "main a.c:3 > work a.c:9");
	struct causes causes = causes_of(0, 70);
	cr_expect(eq(u64, causes.ns[CAUSE_COMPILER], 30 * MS));
	cr_expect(eq(u64, causes.ns[CAUSE_JIT], 20 * MS));
	cr_expect(eq(u64, causes.all_ns, 60 * MS), "who waits for a CPU does nothing");
}

Test(query_causes, without_warmup_there_are_none)
{
	spend(1, 10, "main a.c:3 > work a.c:9");
	struct causes causes = causes_of(0, 0);
	cr_expect(eq(u64, causes.all_ns, 0));
}
