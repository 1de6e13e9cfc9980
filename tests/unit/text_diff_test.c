// SPDX-License-Identifier: MIT
// A hand-made comparison as text, and what its gate says.
#include "cli/diff/diff_print.h"
#include "cli/report/diff_report.h"

#include "base/error.h"
#include "cli/command.h"
#include "tests/support/expect.h"
#include "tests/support/golden.h"
#include "tests/unit/fake_profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct profile profiles[2];
static struct diff_part parts[2];
static struct diff_side sides[2];
static const char *const paths[2][1] = { { "/home/ada/measurements/2026-11/base.bneck" },
	                                 { "/home/ada/measurements/2026-11/new.bneck" } };

#define S 1e9

static struct diff_value value(double seconds, int line)
{
	return (struct diff_value){ .runs = seconds > 0, .ns = seconds * S, .line = line };
}

static struct diff_row row(const char *name, double base, double next, double margin,
                           enum diff_verdict verdict)
{
	return (struct diff_row){
		.name = name,
		.domain = "",
		.shape = "",
		.base = value(base, 88),
		.next = value(next, 88),
		.change_ns = (next - base) * S,
		.margin_ns = margin * S,
		.error_ns = margin * S / 3,
		.freedom = 20,
		.p = verdict == DIFF_CHANGED ? 0.001 : 0.5,
		.verdict = verdict,
	};
}

static struct diff_row run_rows[4], function_rows[6], line_rows[2], op_rows[2];
static struct diff tables[DIFF_TABLES];

static void place(struct diff_row *at, const char *file, const char *module)
{
	at->file = file;
	at->module = module;
}

static void make_rows(void)
{
	run_rows[0] = row(DIFF_WALL, 3.10, 3.41, 0.12, DIFF_CHANGED);
	run_rows[1] = row(DIFF_OWN, 3.05, 3.35, 0.11, DIFF_CHANGED);
	run_rows[2] = row("waiting for files", 0.4, 0.42, 0.3, DIFF_UNSURE);
	run_rows[3] = row("start-up", 0.2, 0.2, 0.009, DIFF_SAME);
	function_rows[0] = row("parse_row", 0.91, 1.20, 0.06, DIFF_CHANGED);
	function_rows[1] = row("std::vector<std::pair<int, float>>::push_back(std::pair<int, "
	                       "float> const&)",
	                       0, 0.11, 0.02, DIFF_CHANGED);
	function_rows[2] = row("old_reader", 0.1, 0, 0.02, DIFF_CHANGED);
	function_rows[3] = row("hash", 0.4, 0.45, 0.09, DIFF_UNSURE);
	function_rows[4] = row("scan", 0.8, 0.801, 0.02, DIFF_SAME);
	function_rows[5] = row("tiny", 0.01, 0.012, 0.02, DIFF_UNSURE);
	for (int i = 0; i < 6; i++)
		place(&function_rows[i], "/home/ada/src/csv.c", "/home/ada/app");
	line_rows[0] = row("csv.c", 0.5, 0.8, 0.06, DIFF_CHANGED);
	line_rows[0].next.line = 93;
	line_rows[1] = row("csv.c", 0.4, 0.4, 0.01, DIFF_SAME);
	for (int i = 0; i < 2; i++)
		place(&line_rows[i], "/home/ada/src/csv.c", "/home/ada/app");
	op_rows[0] = row("aten::linear", 0.5, 0.6, 0.02, DIFF_CHANGED);
	op_rows[0].base.calls = 1000, op_rows[0].next.calls = 1200;
	op_rows[0].base.median_ns = op_rows[0].next.median_ns = 5e5;
	op_rows[1] = row("aten::add", 0.2, 0.24, 0.03, DIFF_CHANGED);
	op_rows[1].base.calls = op_rows[1].next.calls = 2000;
	op_rows[1].base.median_ns = 1e5, op_rows[1].next.median_ns = 1.2e5;
}

static struct diff_report make_report(void)
{
	struct diff_report report = {
		.base = &sides[0],
		.next = &sides[1],
		.base_paths = paths[0],
		.next_paths = paths[1],
		.top = 15,
		.confidence = 0.95,
	};

	for (int i = 0; i < 2; i++) {
		profiles[i] = *fake_profile();
		profiles[i].run.wall_ns = (uint64_t)((i ? 3.41 : 3.10) * S);
		profiles[i].run.command = i ? "./app --new data.csv" : "./app data.csv";
		profiles[i].run.samples = 3000;
		parts[i] = (struct diff_part){ .profile = &profiles[i] };
		sides[i] = (struct diff_side){ &parts[i], 1 };
	}
	make_rows();
	tables[DIFF_RUN] = (struct diff){ run_rows, 4, 0, 3.1 * S, 3.4 * S, NULL };
	tables[DIFF_FUNCTION] = (struct diff){ function_rows, 6, 2, 3.0 * S, 3.3 * S, NULL };
	tables[DIFF_LINE] = (struct diff){ line_rows, 2, 0, 3.0 * S, 3.3 * S, NULL };
	tables[DIFF_OP] = (struct diff){ op_rows, 2, 0, 1.0 * S, 1.2 * S, NULL };
	tables[DIFF_KERNEL] = (struct diff){ NULL, 0, 0, 0, 0, NULL };
	for (int by = 0; by < DIFF_TABLES; by++)
		report.tables[by] = tables[by].rows || by == DIFF_KERNEL ? &tables[by] : NULL;
	return report;
}

static void finish(struct diff_report *report)
{
	diff_report_differ(report);
	diff_report_conclude(report);
	diff_report_judge(report);
}

static void expect_golden(const char *name, const struct diff_report *report, struct terminal t)
{
	char *page = NULL;
	size_t size;
	FILE *memory = open_memstream(&page, &size);

	cr_assert(diff_report_print(report, &t, memory) == 0);
	fclose(memory);
	golden_expect(name, page);
}

TestSuite(text_diff, .init = golden_use_utf8);

Test(text_diff, the_whole_comparison_at_three_widths)
{
	struct diff_report report = make_report();

	report.gate = (struct diff_gate){ .asked = true, .ratio = 0.05, .least_ns = 0.1 * S };
	finish(&report);
	expect_golden("diff-60", &report, golden_terminal(60, false, false));
	expect_golden("diff-80", &report, golden_terminal(80, false, false));
	expect_golden("diff-100", &report, golden_terminal(100, false, false));
}

Test(text_diff, a_table_that_was_asked_for_has_all_rows_and_what_was_not_alike_is_said)
{
	struct diff_report report = make_report();

	profiles[1].run.frequency_hz = 199;
	profiles[1].run.exit_status = 256;
	profiles[1].run.host = "other";
	report.chosen = true;
	report.tables[DIFF_LINE] = report.tables[DIFF_OP] = report.tables[DIFF_KERNEL] = NULL;
	finish(&report);
	expect_golden("diff-by-function-ascii", &report, golden_terminal(80, false, true));
}

Test(text_diff, no_change_is_said_in_three_words)
{
	struct diff_report report = make_report();

	for (int by = 0; by < DIFF_TABLES; by++)
		for (size_t i = 0; report.tables[by] && i < report.tables[by]->count; i++)
			report.tables[by]->rows[i].verdict = DIFF_SAME;
	report.quiet = true;
	finish(&report);
	cr_expect(eq(str, report.sentence, "No significant change."));
	expect_golden("diff-same", &report, golden_terminal(100, false, false));
}

Test(text_diff, the_sentence_names_what_has_most_of_the_change_in_its_direction)
{
	static const struct {
		double base, next;
		const char *words;
	} cases[] = {
		{ 3.10, 3.41,
		  "NEW is 10.0 % slower (3.41 s against 3.10 s): parse_row in csv.c:88 "
		  "takes 290 ms more (+31.9 %)." },
		{ 3.10, 2.79,
		  "NEW is 10.0 % faster (2.79 s against 3.10 s): old_reader in csv.c:88 "
		  "is gone, which had taken 100 ms." },
	};

	for (size_t i = 0; i < 2; i++) {
		struct diff_report report = make_report();
		run_rows[0] = row(DIFF_WALL, cases[i].base, cases[i].next, 0.1, DIFF_CHANGED);
		finish(&report);
		cr_expect(eq(str, report.sentence, (char *)cases[i].words));
	}
}

// Times that nobody can tell apart, and what is counted.
Test(text_diff, the_sentence_is_about_calls_and_bytes_where_times_do_not_differ)
{
	struct diff_report report = make_report();
	struct error err;

	report.tables[DIFF_FUNCTION] = report.tables[DIFF_LINE] = NULL;
	run_rows[0] = row(DIFF_WALL, 3.1, 3.2, 0.5, DIFF_UNSURE);
	run_rows[1] = row(DIFF_OWN, 3.1, 3.2, 0.5, DIFF_UNSURE);
	for (int i = 0; i < 2; i++)
		op_rows[i].verdict = DIFF_UNSURE;
	op_rows[1].base.bytes = 100 << 20;
	op_rows[1].next.bytes = 150 << 20;
	cr_assert(eq(int, diff_report_count(&report, &err), 0));
	cr_expect(eq(sz, report.amount_count, 2));
	cr_expect(eq(str, report.amounts[0].name, "calls of aten::linear"));
	cr_expect(eq(dbl, report.amounts[0].next, 1200));
	cr_expect(eq(str, report.amounts[1].name, "bytes of aten::add"));
	cr_expect(report.amounts[1].bytes);
	finish(&report);
	cr_expect(eq(str, report.sentence,
	             "No significant change in time; but bytes of aten::add: 150 MB against 100 "
	             "MB."));
	expect_golden("diff-amounts", &report, golden_terminal(80, false, false));
}

Test(text_diff, runs_that_may_differ_are_not_called_as_long_as_each_other)
{
	struct diff_report report = make_report();

	run_rows[0] = row(DIFF_WALL, 3.1, 3.2, 0.5, DIFF_UNSURE);
	run_rows[1] = row(DIFF_OWN, 3.1, 3.2, 0.5, DIFF_UNSURE);
	finish(&report);
	cr_expect(eq(str, report.sentence,
	             "Whether NEW as a whole is slower cannot be determined; but parse_row in "
	             "csv.c:88 takes 290 ms more (+31.9 %)."));
	run_rows[0].verdict = run_rows[1].verdict = DIFF_SAME;
	finish(&report);
	cr_expect(eq(str, report.sentence,
	             "NEW takes as long as BASE; but parse_row in csv.c:88 takes 290 ms more "
	             "(+31.9 %)."));
}

Test(text_diff, a_gate_needs_both_limits_exceeded_for_sure)
{
	// Error is a third of the margin; one-sided, 95 %, of 20 degrees: 1.725 errors.
	static const struct {
		double base, next, margin, ratio, least;
		int status;
	} cases[] = {
		{ 1, 1.3, 0.1, 0.05, 0.1, EXIT_REGRESSION },
		{ 1, 1.3, 0.1, 0.05, 0.5, 0 },                 // not by so many seconds
		{ 1, 1.3, 0.1, 0.50, 0.1, 0 },                 // not by so many per cent
		{ 1, 1.3, 0.6, 0.05, 0.1, EXIT_INCONCLUSIVE }, // nobody can tell
		{ 1, 1.0, 0.6, 0.05, 0.1, EXIT_INCONCLUSIVE }, // nor that it is not
		{ 1, 1.0, 0.1, 0.05, 0.1, 0 },
		{ 1, 0.5, 0.1, 0.05, 0.1, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct diff_report report = make_report();
		for (int by = 0; by < DIFF_TABLES; by++)
			report.tables[by] = by == DIFF_RUN ? &tables[by] : NULL;
		tables[DIFF_RUN].count = 1;
		run_rows[0] =
			row(DIFF_OWN, cases[i].base, cases[i].next, cases[i].margin, DIFF_UNSURE);
		report.gate = (struct diff_gate){ .asked = true,
			                          .ratio = cases[i].ratio,
			                          .least_ns = cases[i].least * S };
		finish(&report);
		cr_expect(eq(int, report.gate.status, cases[i].status), "row %zu", i);
		cr_expect(eq(int, *report.gate.reason != '\0', cases[i].status != 0), "row %zu", i);
	}
}

Test(text_diff, a_gate_knows_a_function_though_the_run_is_as_long_as_before)
{
	struct diff_report report = make_report();

	run_rows[0].verdict = run_rows[1].verdict = DIFF_SAME;
	run_rows[0].change_ns = run_rows[1].change_ns = 0;
	report.gate = (struct diff_gate){ .asked = true, .ratio = 0.10, .least_ns = 0.05 * S };
	finish(&report);
	cr_expect(eq(int, report.gate.status, EXIT_REGRESSION));
	cr_expect(strstr(report.gate.reason, "parse_row") != NULL, "%s", report.gate.reason);
}

Test(text_diff, runs_that_were_not_measured_alike_pass_no_gate)
{
	struct diff_report report = make_report();

	profiles[1].run.rung = profiles[0].run.rung + 1;
	report.gate = (struct diff_gate){ .asked = true, .ratio = 10, .least_ns = 100 * S };
	finish(&report);
	cr_expect(eq(int, report.gate.status, EXIT_INCONCLUSIVE));
	cr_expect(strstr(report.gate.reason, "samples by") != NULL, "%s", report.gate.reason);
}
