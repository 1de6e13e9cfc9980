// SPDX-License-Identifier: MIT
#include "merge/diff/diff.h"

#include "base/error.h"
#include "merge/diff/visits.h"
#include "tests/support/expect.h"
#include "tests/unit/merge_fixture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define RUNS 3

static struct fixture bases[RUNS], nexts[RUNS];

static void begin(void)
{
	for (int i = 0; i < RUNS; i++) {
		fixture_init(&bases[i], NULL);
		fixture_init(&nexts[i], NULL);
	}
}

static void end(void)
{
	for (int i = 0; i < RUNS; i++) {
		fixture_fini(&bases[i]);
		fixture_fini(&nexts[i]);
	}
}

TestSuite(diff, .init = begin, .fini = end);

// COUNT samples of a millisecond, in ten goes.
static void run_for(struct fixture *f, int count, const char *stack)
{
	for (int i = 0; i < count; i++) {
		add(f, 1, METRIC_ON_CPU, 1, stack);
		f->now_ns += MS;
	}
}

static void finish(struct fixture *f, uint64_t samples)
{
	struct run run = { .command = "app",
		           .start_ns = 1000 * MS,
		           .frequency_hz = 1000,
		           .samples = samples,
		           .off_cpu_exact = true };

	run.wall_ns = f->now_ns - run.start_ns;
	cr_assert(profile_set_run(f->profile, &run, NULL) == 0);
	name_all(f);
}

struct work {
	const char *stack;
	int ms; // in each of ten rounds
};

static void fill(struct fixture *f, const struct work *work, size_t count)
{
	uint64_t samples = 0;

	for (int round = 0; round < 10; round++)
		for (size_t i = 0; i < count; i++) {
			run_for(f, work[i].ms, work[i].stack);
			samples += (uint64_t)work[i].ms;
		}
	finish(f, samples);
}

#define FILL(f, ...)                                                                               \
	fill(f, (const struct work[]){ __VA_ARGS__ },                                              \
	     sizeof((const struct work[]){ __VA_ARGS__ }) / sizeof(struct work))

static struct diff *compare_runs(enum diff_by by, size_t runs)
{
	struct diff_part base[RUNS], next[RUNS];
	const struct diff_query query = { .by = by, .confidence = 0.95, .min_share = 0.001 };
	struct error err = { 0 };

	for (size_t i = 0; i < runs; i++) {
		base[i] = (struct diff_part){ .profile = bases[i].profile };
		next[i] = (struct diff_part){ .profile = nexts[i].profile };
	}
	struct diff *diff = diff_new(&(struct diff_side){ base, runs },
	                             &(struct diff_side){ next, runs }, &query, &err);
	cr_assert(diff != NULL, "%s", err.text);
	return diff;
}

static const struct diff_row *row_called(const struct diff *diff, const char *name)
{
	for (size_t i = 0; i < diff->count; i++)
		if (strcmp(diff->rows[i].name, name) == 0)
			return &diff->rows[i];
	cr_assert(false, "no row is called %s", name);
	return NULL;
}

static double ms(double ns)
{
	return round(ns / 1e6);
}

Test(diff, a_function_that_is_a_tenth_slower_comes_first_and_is_the_only_one)
{
	FILL(&bases[0], { "main a.c:3 > parse a.c:9", 100 }, { "main a.c:4 > hash a.c:20", 100 },
	     { "main a.c:5 > scan a.c:30", 50 });
	FILL(&nexts[0], { "main a.c:3 > parse a.c:9", 110 }, { "main a.c:4 > hash a.c:20", 100 },
	     { "main a.c:5 > scan a.c:30", 50 });
	cleanup(diff) struct diff *diff = compare_runs(DIFF_FUNCTION, 1);

	cr_assert(diff->count == 3);
	cr_expect(eq(str, (char *)diff->rows[0].name, "parse"));
	cr_expect(diff->rows[0].verdict == DIFF_CHANGED);
	cr_expect(eq(dbl, ms(diff->rows[0].change_ns), 100));
	cr_expect(fabs(diff_ratio(&diff->rows[0]) - 0.1) < 0.001);
	cr_expect(diff->rows[0].margin_ns < diff->rows[0].change_ns);
	cr_expect(diff->rows[1].verdict == DIFF_SAME && diff->rows[2].verdict != DIFF_CHANGED);
}

Test(diff, two_equal_runs_have_no_change)
{
	for (int i = 0; i < 2; i++)
		FILL(i ? &nexts[0] : &bases[0], { "main a.c:3 > parse a.c:9", 100 },
		     { "main a.c:4 > hash a.c:20", 100 });
	cleanup(diff) struct diff *diff = compare_runs(DIFF_FUNCTION, 1);
	cleanup(diff) struct diff *run = compare_runs(DIFF_RUN, 1);

	for (size_t i = 0; i < diff->count; i++)
		cr_expect(diff->rows[i].verdict == DIFF_SAME, "%s", diff->rows[i].name);
	for (size_t i = 0; i < run->count; i++)
		cr_expect(run->rows[i].verdict != DIFF_CHANGED, "%s", run->rows[i].name);
	cr_expect(eq(dbl, ms(row_called(run, "wall time")->base.ns), 2000));
}

Test(diff, what_is_new_and_what_is_gone_is_said_to_be)
{
	FILL(&bases[0], { "main a.c:3 > old a.c:9", 100 }, { "main a.c:4 > hash a.c:20", 100 });
	FILL(&nexts[0], { "main a.c:3 > fresh a.c:9", 100 }, { "main a.c:4 > hash a.c:20", 100 });
	cleanup(diff) struct diff *diff = compare_runs(DIFF_FUNCTION, 1);
	const struct diff_row *old = row_called(diff, "old"), *fresh = row_called(diff, "fresh");

	cr_expect(old->next.runs == 0 && old->verdict == DIFF_CHANGED);
	cr_expect(fresh->base.runs == 0 && fresh->verdict == DIFF_CHANGED);
	cr_expect(isinf(diff_ratio(fresh)));
	cr_expect(eq(dbl, diff_ratio(old), -1));
}

Test(diff, directories_and_clones_of_functions_do_not_matter)
{
	FILL(&bases[0], { "main /src/a.c:3 > parse /src/a.c:9", 100 },
	     { "main /src/a.c:3 > gemm.constprop.0 /src/g.c:2", 100 });
	FILL(&nexts[0], { "main /b/a.c:3@app2 > parse /b/a.c:9@app2", 100 },
	     { "main /b/a.c:3@app2 > gemm.isra.1 /b/g.c:2@app2", 100 });
	cleanup(diff) struct diff *functions = compare_runs(DIFF_FUNCTION, 1);
	cleanup(diff) struct diff *lines = compare_runs(DIFF_LINE, 1);
	cleanup(diff) struct diff *modules = compare_runs(DIFF_MODULE, 1);

	cr_expect(eq(sz, functions->count, 2));
	cr_expect(eq(sz, lines->count, 2));
	cr_expect(eq(sz, modules->count, 1));
	for (size_t i = 0; i < functions->count; i++)
		cr_expect(functions->rows[i].base.runs == 1 && functions->rows[i].next.runs == 1,
		          "%s", functions->rows[i].name);
}

Test(diff, functions_of_one_name_in_two_files_stay_apart)
{
	for (int i = 0; i < 2; i++)
		FILL(i ? &nexts[0] : &bases[0], { "main a.c:3 > init a.c:9 a.c", 100 },
		     { "main a.c:4 > init b.c:20 b.c", i ? 200 : 100 });
	cleanup(diff) struct diff *diff = compare_runs(DIFF_FUNCTION, 1);

	cr_assert(eq(sz, diff->count, 2));
	cr_expect(eq(str, (char *)diff->rows[0].file, "b.c"));
	cr_expect(eq(dbl, ms(diff->rows[0].change_ns), 1000));
	cr_expect(eq(dbl, ms(diff->rows[1].change_ns), 0));
}

Test(diff, lines_that_have_moved_are_found)
{
	FILL(&bases[0], { "main a.c:3 > parse a.c:90", 100 }, { "main a.c:3 > parse a.c:94", 30 },
	     { "main a.c:3 > other b.c:7", 50 });
	FILL(&nexts[0], { "main a.c:3 > parse a.c:93", 140 }, { "main a.c:3 > parse a.c:97", 30 },
	     { "main a.c:3 > other b.c:7", 50 });
	cleanup(diff) struct diff *diff = compare_runs(DIFF_LINE, 1);

	cr_assert(eq(sz, diff->count, 3));
	cr_expect(eq(int, diff->rows[0].base.line, 90));
	cr_expect(eq(int, diff->rows[0].next.line, 93));
	cr_expect(eq(dbl, ms(diff->rows[0].change_ns), 400));
	for (size_t i = 1; i < 3; i++)
		cr_expect(eq(dbl, ms(diff->rows[i].change_ns), 0));
}

Test(diff, waiting_instead_of_work_is_told)
{
	FILL(&bases[0], { "main a.c:3 > step a.c:9", 100 }, { "main a.c:4 > hash a.c:20", 100 });
	for (int i = 0; i < 10; i++) {
		run_for(&nexts[0], 100, "main a.c:4 > hash a.c:20");
		add(&nexts[0], 1, METRIC_OFF_SLEEP, 100, "main a.c:3 > step a.c:9");
		nexts[0].now_ns += 100 * MS;
	}
	finish(&nexts[0], 1000);
	cleanup(diff) struct diff *diff = compare_runs(DIFF_FUNCTION, 1);
	const struct diff_row *step = row_called(diff, "step");

	cr_expect(eq(dbl, ms(step->base.waiting_ns), 0));
	cr_expect(eq(dbl, ms(step->next.waiting_ns), 1000));
	cr_expect(step->verdict != DIFF_CHANGED);
}

Test(diff, repeated_runs_decide_by_how_far_they_are_apart_themselves)
{
	static const int steady[RUNS] = { 100, 101, 99 }, slower[RUNS] = { 105, 106, 104 },
			 wild[RUNS] = { 80, 100, 120 }, wilder[RUNS] = { 90, 110, 130 };

	for (int i = 0; i < RUNS; i++) {
		FILL(&bases[i], { "main a.c:3 > calm a.c:9", steady[i] },
		     { "main a.c:4 > wild a.c:20", wild[i] });
		FILL(&nexts[i], { "main a.c:3 > calm a.c:9", slower[i] },
		     { "main a.c:4 > wild a.c:20", wilder[i] });
	}
	cleanup(diff) struct diff *diff = compare_runs(DIFF_FUNCTION, RUNS);

	cr_expect(eq(uint, row_called(diff, "calm")->base.runs, RUNS));
	cr_expect(row_called(diff, "calm")->verdict == DIFF_CHANGED);
	cr_expect(row_called(diff, "wild")->verdict == DIFF_UNSURE);
	cr_expect(eq(dbl, ms(row_called(diff, "wild")->change_ns), 100));
}

// CALLS of MS each, with one of a fiftieth more in turn, so that they have a spread.
static void call_op(struct fixture *f, const char *name, int calls, uint64_t ms)
{
	for (int i = 0; i < calls; i++) {
		uint64_t ns = ms * MS + (i % 2 ? ms * MS / 50 : 0);
		profile_add_op(f->profile, &(struct op_event){ .thread = 1,
		                                               .op = op_called(f, name),
		                                               .begin_ns = f->now_ns,
		                                               .end_ns = f->now_ns + ns,
		                                               .self_ns = ns });
		f->now_ns += ns;
	}
}

Test(diff, ops_have_calls_and_medians)
{
	call_op(&bases[0], "io:load", 100, 2);
	call_op(&bases[0], "gemm", 200, 3);
	call_op(&nexts[0], "io:load", 150, 2);
	call_op(&nexts[0], "gemm", 200, 3);
	finish(&bases[0], 1);
	finish(&nexts[0], 1);
	cleanup(diff) struct diff *diff = compare_runs(DIFF_OP, 1);

	cr_assert(eq(sz, diff->count, 2));
	cr_expect(eq(str, (char *)diff->rows[0].name, "load"));
	cr_expect(eq(str, (char *)diff->rows[0].domain, "io"));
	cr_expect(diff->rows[0].verdict == DIFF_CHANGED);
	cr_expect(eq(dbl, diff->rows[0].base.calls, 100));
	cr_expect(eq(dbl, diff->rows[0].next.calls, 150));
	cr_expect(diff->rows[1].verdict == DIFF_SAME);
	cr_expect(fabs(diff->rows[1].next.median_ns / diff->rows[1].base.median_ns - 1) < 0.01);
}

Test(diff, an_order_is_what_was_asked_for)
{
	static const struct {
		enum diff_sort sort;
		const char *first;
	} orders[] = {
		{ DIFF_BY_CHANGE, "big" },
		{ DIFF_BY_RATIO, "small" },
		{ DIFF_BY_BASE, "steady" },
		{ DIFF_BY_NEW, "steady" },
	};

	FILL(&bases[0], { "main a.c:3 > big a.c:9", 50 }, { "main a.c:3 > small a.c:10", 5 },
	     { "main a.c:3 > steady a.c:11", 200 });
	FILL(&nexts[0], { "main a.c:3 > big a.c:9", 70 }, { "main a.c:3 > small a.c:10", 10 },
	     { "main a.c:3 > steady a.c:11", 200 });
	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		const struct diff_part base = { .profile = bases[0].profile },
				       next = { .profile = nexts[0].profile };
		const struct diff_query query = { .by = DIFF_FUNCTION,
			                          .confidence = 0.95,
			                          .sort = orders[i].sort };
		cleanup(diff) struct diff *diff =
			diff_new(&(struct diff_side){ &base, 1 }, &(struct diff_side){ &next, 1 },
		                 &query, NULL);
		cr_assert(diff != NULL);
		cr_expect(eq(str, (char *)diff->rows[0].name, (char *)orders[i].first), "order %zu",
		          i);
	}
}

static double variance_of(const struct fixture *f, const char *name)
{
	const struct query query = { .by = BY_FUNCTION };
	cleanup(rows) struct rows *rows = query_run(f->profile, &query, NULL);
	double variance[16] = { 0 };

	cr_assert(rows && rows->count <= 16);
	cr_assert(visits_of_rows(f->profile, &query, rows, variance, NULL) == 0);
	for (size_t i = 0; i < rows->count; i++)
		if (strcmp(rows->rows[i].name, name) == 0)
			return variance[i];
	cr_assert(false, "no row is called %s", name);
	return 0;
}

Test(diff, samples_in_a_row_tell_the_time_better_than_those_in_turns)
{
	for (int i = 0; i < 500; i++) {
		run_for(&bases[0], 1, "main a.c:3 > f a.c:9");
		run_for(&bases[0], 1, "main a.c:3 > g a.c:10");
	}
	finish(&bases[0], 1000);
	FILL(&nexts[0], { "main a.c:3 > f a.c:9", 50 }, { "main a.c:3 > g a.c:10", 50 });
	double turns = variance_of(&bases[0], "f"), rows = variance_of(&nexts[0], "f");

	// 999 changes from one sample to the next, and 19.
	cr_expect(fabs(turns - 499.5) < 1, "%g", turns);
	cr_expect(fabs(rows - 9.5) < 1, "%g", rows);
}

Test(diff, every_table_can_be_made_of_every_run)
{
	FILL(&bases[0], { "main a.c:3 > f a.c:9", 5 });
	FILL(&nexts[0], { "main a.c:3 > f a.c:9", 5 });
	for (int by = 0; by < DIFF_TABLES; by++) {
		cleanup(diff) struct diff *diff = compare_runs((enum diff_by)by, 1);
		cr_expect(strlen(diff_by_name((enum diff_by)by)) > 0);
		for (size_t i = 0; i < diff->count; i++)
			cr_expect(diff->rows[i].name && isfinite(diff->rows[i].margin_ns),
			          "table %d, row %zu", by, i);
	}
}
