// SPDX-License-Identifier: MIT
// The report of a hand-made profile, compared with tests/golden/.
#include "base/clock.h"
#include "base/debug_status.h"
#include "base/format.h"
#include "base/rung.h"
#include "symbolize/symbolizer.h"
#include "tests/support/expect.h"
#include "tests/support/golden.h"
#include "tests/unit/text_page.h"

#include <stdlib.h>
#include <string.h>

TestSuite(text, .init = golden_use_utf8);

Test(text, the_whole_report_at_four_widths)
{
	static const int widths[] = { 60, 80, 100, 200 };
	struct view view = view_default();

	for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
		char name[32];
		snprintf(name, sizeof(name), "report-%d", widths[i]);
		golden_expect(name, text_page(fake_profile(), &view,
		                              golden_terminal(widths[i], false, false)));
	}
}

Test(text, a_brief_report_ends_with_the_answer)
{
	struct view view = view_default();

	view_make_brief(&view);
	for (int width = 80; width <= 100; width += 20) {
		char name[32];
		snprintf(name, sizeof(name), "brief-%d", width);
		golden_expect(name, text_page(fake_profile(), &view,
		                              golden_terminal(width, false, false)));
	}
}

Test(text, a_brief_report_has_as_many_rows_as_are_asked_for)
{
	struct view view = view_default();

	view.top = 1;
	view_make_brief(&view);
	char *page = text_page(fake_profile(), &view, golden_terminal(100, false, false));
	const char *table = strstr(page, "hotspots by total time");
	cr_assert(ne(ptr, (void *)table, NULL));
	const char *end = strstr(table, "\n\n");
	size_t lines = 0;
	for (const char *c = table; c < end; c++)
		lines += *c == '\n';
	cr_expect_eq(lines, 2, "%s", page); // below the title: headings, and one row
	free(page);
}

Test(text, a_brief_table_of_total_time_leaves_out_who_only_passes_on)
{
	struct call_node leaf = { .name = "leaf", .self = 20, .total = 20 };
	struct call_node work = { .name = "work", .self = 79, .total = 99, .child = &leaf };
	struct call_node aside = { .name = "aside", .self = 1, .total = 1 };
	struct call_node run = { .name = "run", .total = 100, .child = &work };
	struct call_node again = { .name = "again", .total = 100, .child = &run };
	struct call_node outer = { .name = "again", .total = 100, .child = &again };
	static const struct row rows[] = {
		{ .name = "again", .total = 100 * NS_PER_SEC },
		{ .name = "run", .total = 100 * NS_PER_SEC },
		{ .name = "work", .self = 79 * NS_PER_SEC, .total = 99 * NS_PER_SEC },
		{ .name = "leaf", .self = 20 * NS_PER_SEC, .total = 20 * NS_PER_SEC },
	};
	struct profile *profile = fake_profile();
	struct view view = view_default();

	work.next = &aside;
	profile->tree = &outer;
	profile->functions = rows;
	profile->function_count = sizeof(rows) / sizeof(rows[0]);
	profile->all = 100 * NS_PER_SEC;
	for (int brief = 0; brief <= 1; brief++) {
		if (brief)
			view_make_brief(&view);
		char *page = text_page(profile, &view, golden_terminal(100, false, false));
		char *table = strstr(page, "hotspots by total time");
		cr_assert(ne(ptr, table, NULL), "%s", page);
		*strstr(table, "\n\n") = '\0';
		// What calls nothing is in the table of self time.
		cr_expect_eq(strstr(table, " leaf") == NULL, brief, "%s", table);
		cr_expect(ne(ptr, strstr(table, " work"), NULL), "%s", table);
		cr_expect_eq(strstr(table, " run") == NULL, brief, "%s", table);
		// One that calls itself is no mere way to another.
		cr_expect(ne(ptr, strstr(table, " again"), NULL), "%s", table);
		free(page);
	}
}

// "work" is called by "other", too: how much of it "run" has is said by the row of "run" alone.
Test(text, a_brief_table_of_total_time_has_each_caller_of_a_function_that_several_call)
{
	struct call_node work = { .name = "work", .self = 70, .total = 70 };
	struct call_node rest = { .name = "work", .self = 30, .total = 30 };
	struct call_node run = { .name = "run", .total = 70, .child = &work };
	struct call_node other = { .name = "other", .total = 30, .child = &rest };
	static const struct row rows[] = {
		{ .name = "work", .self = 100 * NS_PER_SEC, .total = 100 * NS_PER_SEC },
		{ .name = "run", .total = 70 * NS_PER_SEC },
		{ .name = "other", .total = 30 * NS_PER_SEC },
	};
	struct profile *profile = fake_profile();
	struct view view = view_default();

	run.next = &other;
	profile->tree = &run;
	profile->functions = rows;
	profile->function_count = sizeof(rows) / sizeof(rows[0]);
	profile->all = 100 * NS_PER_SEC;
	view_make_brief(&view);
	cleanup_free char *page = text_page(profile, &view, golden_terminal(100, false, false));
	char *table = strstr(page, "hotspots by total time");
	cr_assert(ne(ptr, table, NULL), "%s", page);
	cr_expect(ne(ptr, strstr(table, " run"), NULL), "%s", table);
	cr_expect(ne(ptr, strstr(table, " other"), NULL), "%s", table);
}

Test(text, hooks_are_no_hotspot)
{
	static const struct row rows[] = {
		{ .name = "[bottleneck]",
		  .self = 60 * NS_PER_SEC,
		  .total = 60 * NS_PER_SEC,
		  .self_ns = { [METRIC_ON_CPU] = 60 * NS_PER_SEC } },
		{ .name = "work",
		  .self = 40 * NS_PER_SEC,
		  .total = 40 * NS_PER_SEC,
		  .self_ns = { [METRIC_ON_CPU] = 40 * NS_PER_SEC } },
	};
	struct profile *profile = fake_profile();
	struct view view = view_default();

	profile->functions = rows;
	profile->function_count = sizeof(rows) / sizeof(rows[0]);
	profile->all = 100 * NS_PER_SEC;
	char *page = text_page(profile, &view, golden_terminal(100, false, false));
	char *table = strstr(page, "hotspots by self time");
	cr_assert(ne(ptr, table, NULL), "%s", page);
	*strstr(table, "\n\n") = '\0';
	cr_expect(ne(ptr, strstr(table, " work"), NULL), "%s", table);
	cr_expect(eq(ptr, strstr(table, "[bottleneck]"), NULL), "%s", table);
	free(page);
}

Test(text, in_colour_and_in_ascii)
{
	struct view view = view_default();

	golden_expect("report-color",
	              text_page(fake_profile(), &view, golden_terminal(100, true, false)));
	golden_expect("report-ascii",
	              text_page(fake_profile(), &view, golden_terminal(100, false, true)));
}

Test(text, no_line_is_wider_than_the_terminal)
{
	struct view view = view_default();

	view.verbose = true;
	for (int width = 60; width < 160; width++) {
		char *page = text_page(fake_profile(), &view, golden_terminal(width, false, false));
		for (char *line = strtok(page, "\n"); line; line = strtok(NULL, "\n"))
			cr_expect(le(sz, format_width(line), (size_t)width), "at %d: %s", width,
			          line);
		free(page);
	}
}

// Of a long command line both ends are shown, with -v all of it.
Test(text, a_command_longer_than_a_line_is_clipped)
{
	static const char command[] =
		"./pack --input aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa "
		"--output bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb --last";
	struct profile *profile = fake_profile();
	struct view view = view_default();

	profile->run.command = command;
	char *page = text_page(profile, &view, golden_terminal(80, false, false));
	page[strcspn(page, "\n")] = '\0';
	cr_expect(le(sz, format_width(page), 80));
	cr_expect(ne(ptr, strstr(page, "\u2026"), NULL));
	free(page);
	view.verbose = true;
	page = text_page(profile, &view, golden_terminal(80, false, false));
	cr_expect(eq(int,
	             strncmp(page,
	                     "bottleneck: ./pack --input "
	                     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa --output\n"
	                     "  bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb --last\n  41.2 s",
	                     120),
	             0),
	          "%s", page);
	free(page);
}

Test(text, the_interpreter_is_no_row_by_total_time_beside_python)
{
	static const struct row rows[] = { { .name = "step",
		                             .file = "/src/train.py",
		                             .python = true,
		                             .total = 3 * NS_PER_SEC,
		                             .total_ns = { [METRIC_ON_CPU] = 3 * NS_PER_SEC } },
		                           { .name = "pymain_main",
		                             .module = "/usr/bin/python3.11",
		                             .total = 2 * NS_PER_SEC,
		                             .total_ns = { [METRIC_ON_CPU] = 2 * NS_PER_SEC } } };
	struct profile *profile = fake_profile();
	struct view view = view_default();

	profile->functions = rows;
	profile->function_count = 2;
	for (int shown = 0; shown <= 1; shown++) {
		view.interpreter = shown;
		char *page = text_page(profile, &view, golden_terminal(100, false, false));
		cr_expect(ne(ptr, strstr(page, "step"), NULL));
		cr_expect_eq(strstr(page, "pymain_main") != NULL, shown, "%s", page);
		free(page);
	}
}

Test(text, code_without_names_is_told_to_be_that)
{
	static const struct row rows[] = { { .name = "[libfoo.so]",
		                             .module = "/opt/x/libfoo.so",
		                             .self = 3 * NS_PER_SEC,
		                             .total = 3 * NS_PER_SEC,
		                             .self_ns = { [METRIC_ON_CPU] = 3 * NS_PER_SEC } } };
	struct profile *profile = fake_profile();
	struct view view = view_default();

	profile->functions = rows;
	profile->function_count = 1;
	char *page = text_page(profile, &view, golden_terminal(100, false, false));
	cr_expect(ne(ptr, strstr(page, "native  [libfoo.so]  no symbols\n"), NULL), "%s", page);
	free(page);
}

Test(text, the_call_tree)
{
	struct view view = view_default();

	view.call_tree = true;
	golden_expect("call-tree",
	              text_page(fake_profile(), &view, golden_terminal(80, false, false)));
	golden_expect("call-tree-ascii",
	              text_page(fake_profile(), &view, golden_terminal(80, false, true)));
}

Test(text, one_table_by_module)
{
	struct view view = view_default();

	view.by.index = BY_MODULE;
	view.sort = VIEW_SORT_TOTAL;
	golden_expect("by-module",
	              text_page(fake_profile(), &view, golden_terminal(80, false, false)));
}

Test(text, quiet_is_the_answer_only)
{
	struct view view = view_default();

	view.quiet = true;
	golden_expect("quiet",
	              text_page(fake_profile(), &view, golden_terminal(100, false, false)));
}

Test(text, a_part_of_the_run_has_no_verdict_on_all_of_it)
{
	struct view view = view_default();

	view.from_ns = 2 * NS_PER_SEC;
	view.thread = "worker";
	view.on_cpu = true;
	golden_expect("window",
	              text_page(fake_profile(), &view, golden_terminal(100, false, false)));
}

Test(text, the_options_reach_the_question)
{
	struct view view = view_default();
	struct profile *profile = fake_profile();

	view.by.index = BY_FILE;
	view.hide = "inner_*";
	view.user_code = "*/src/*";
	view.process = "cc1";
	view.to_ns = 7;
	free(text_page(profile, &view, golden_terminal(100, false, false)));
	cr_expect(eq(int, profile->asked.by, BY_FILE));
	cr_expect(eq(str, (char *)profile->asked.hide, "inner_*"));
	cr_expect(eq(str, (char *)profile->asked.user_code, "*/src/*"));
	cr_expect(eq(str, (char *)profile->asked.process, "cc1"));
	cr_expect(eq(u64, profile->asked.to_ns, 7));
}

Test(text, waiting_for_children_or_a_cpu_is_not_ranked_unless_waiting_is_asked_for)
{
	static const struct row rows[] = {
		{ .name = "wait4",
		  .module = "/lib/libc.so.6",
		  .self = 9 * NS_PER_SEC,
		  .total = 9 * NS_PER_SEC,
		  .self_ns = { [METRIC_OFF_CHILD] = 9 * NS_PER_SEC },
		  .total_ns = { [METRIC_OFF_CHILD] = 9 * NS_PER_SEC } },
		{ .name = "compile",
		  .module = "/lib/cc1",
		  .self = NS_PER_SEC,
		  .total = NS_PER_SEC,
		  .self_ns = { [METRIC_ON_CPU] = NS_PER_SEC },
		  .total_ns = { [METRIC_ON_CPU] = NS_PER_SEC } },
		{ .name = "preempted",
		  .module = "/lib/cc1",
		  .self = NS_PER_SEC,
		  .total = NS_PER_SEC,
		  .self_ns = { [METRIC_OFF_RUNNABLE] = NS_PER_SEC },
		  .total_ns = { [METRIC_OFF_RUNNABLE] = NS_PER_SEC } },
	};
	struct profile *profile = fake_profile();
	struct view view = view_default();

	profile->functions = rows;
	profile->function_count = 3;
	profile->all = 11 * NS_PER_SEC;
	view.sort = VIEW_SORT_SELF;
	char *page = text_page(profile, &view, golden_terminal(100, false, false));
	cr_expect(eq(ptr, strstr(page, "wait4"), NULL));
	cr_expect(eq(ptr, strstr(page, "preempted"), NULL));
	cr_expect(ne(ptr, strstr(page, "100.0"), NULL)); // compile's share
	free(page);
	view.off_cpu = true;
	page = text_page(profile, &view, golden_terminal(100, false, false));
	cr_expect(ne(ptr, strstr(page, "wait4"), NULL));
	cr_expect(ne(ptr, strstr(page, "preempted"), NULL));
	free(page);
}

// WAITED per cent of a row's time are below collect_results, ELSEWHERE below push.
static void expect_wait_row(uint64_t waited, uint64_t elsewhere, const char *expected)
{
	struct call_node leaf = { .name = "futex_wait",
		                  .module = "/usr/lib/libc.so.6",
		                  .call_line = 120 };
	struct call_node called = { .name = "pthread_mutex_lock",
		                    .module = "/usr/lib/libc.so.6",
		                    .call_line = 120 };
	struct call_node user = { .name = "collect_results", .file = "/src/pool.c", .line = 77 };
	struct call_node other = leaf, other_user = user;
	struct call_node main = { .name = "main", .file = "/src/main.c", .line = 41, .total = 100 };
	const struct row row = { .name = "futex_wait",
		                 .module = "/usr/lib/libc.so.6",
		                 .self = 100 * NS_PER_SEC,
		                 .total = 100 * NS_PER_SEC,
		                 .self_ns = { [METRIC_OFF_LOCK] = 100 * NS_PER_SEC } };
	struct profile *profile = fake_profile();
	struct view view = view_default();

	leaf.self = waited * NS_PER_SEC;
	other.self = elsewhere * NS_PER_SEC;
	called.child = &leaf;
	user.child = &called;
	user.next = &other_user;
	other_user.name = "push";
	other_user.child = &other;
	main.child = &user;
	profile->wait_tree = &main;
	profile->functions = &row;
	profile->function_count = 1;
	view.by.index = BY_FUNCTION;
	char *page = text_page(profile, &view, golden_terminal(120, false, false));
	cr_expect(ne(ptr, strstr(page, expected), NULL), "no \"%s\" in %s", expected, page);
	free(page);
}

Test(text, a_wait_in_a_library_is_named_by_who_called_it)
{
	expect_wait_row(100, 0, "pthread_mutex_lock < collect_results  pool.c:120");
	expect_wait_row(60, 40, "pthread_mutex_lock < collect_results, others  pool.c:120");
	expect_wait_row(40, 0, "futex_wait  [libc.so.6]");
	expect_wait_row(20, 80, "futex_wait < push, others  pool.c:120");
}

Test(text, kernel_time_is_told_by_what_it_was_for)
{
	const struct row row = { .name = "[kernel]",
		                 .kernel = true,
		                 .self = 100 * NS_PER_SEC,
		                 .total = 100 * NS_PER_SEC,
		                 .self_ns = { [METRIC_ON_CPU] = 100 * NS_PER_SEC } };
	struct call_node leaves[3], callers[3] = { { .name = "read" },
		                                   { .name = "fill(int)" },
		                                   { .name = "read", .line = 7 } };
	struct call_node main = { .name = "main", .child = callers };
	struct profile *profile = fake_profile();
	struct view view = view_default();

	for (size_t i = 0; i < 3; i++) {
		leaves[i] = (struct call_node){ .name = "[kernel]",
			                        .kernel = true,
			                        .self = (10 + 20 * i) * NS_PER_SEC };
		callers[i].child = &leaves[i];
		callers[i].next = i < 2 ? &callers[i + 1] : NULL;
	}
	profile->tree = &main;
	profile->functions = &row;
	profile->function_count = 1;
	char *page = text_page(profile, &view, golden_terminal(120, false, false));
	cr_expect(ne(ptr, strstr(page, "kernel  [kernel] < read  60.0 % of [kernel]\n"), NULL),
	          "%s", page);
	free(page);
}

Test(text, generated_code_is_a_limit_only_if_there_is_something_to_say)
{
	struct module_row jit = {
		.path = "[jit 12]", .level = DEBUG_SYMBOLS, .reason = "", .remedy = ""
	};
	struct profile *profile = fake_profile();
	struct view view = view_default();

	jit.self_ns = profile->totals.on_cpu_ns / 2;
	profile->modules = &jit;
	profile->module_count = 1;
	char *page = text_page(profile, &view, golden_terminal(200, false, false));
	cr_expect(eq(ptr, strstr(page, "[jit 12]"), NULL));
	free(page);
	jit.reason = "2 of 3 places held other code before";
	page = text_page(profile, &view, golden_terminal(200, false, false));
	cr_expect(ne(ptr, strstr(page, " % of the CPU time): 2 of 3 places held other code before"),
	             NULL),
	          "%s", page);
	free(page);
}

static char *brief_page(struct profile *profile)
{
	struct view view = view_default();

	view_make_brief(&view);
	return text_page(profile, &view, golden_terminal(200, false, false));
}

Test(text, a_brief_report_has_no_limit_that_the_answer_has)
{
	static struct row jit = { .name = "[jit]",
		                  .self = 30 * NS_PER_SEC,
		                  .total = 30 * NS_PER_SEC,
		                  .self_ns = { [METRIC_ON_CPU] = 30 * NS_PER_SEC } };
	struct module_row module = { .path = "[jit 12]", .reason = "", .remedy = "use --names" };
	struct profile *profile = fake_profile();

	profile->functions = &jit;
	profile->function_count = 1;
	module.self_ns = profile->totals.on_cpu_ns / 2;
	profile->modules = &module;
	profile->module_count = 1;
	char *page = brief_page(profile);
	cr_expect(ne(ptr, strstr(page, "For the names of its functions, use --names."), NULL), "%s",
	          page);
	cr_expect(eq(ptr, strstr(page, "no names for"), NULL), "%s", page);
	free(page);
	module.remedy = DEBUG_REMEDY_SCRIPT;
	page = brief_page(profile);
	cr_expect(eq(ptr, strstr(page, "no names for"), NULL), "%s", page);
	free(page);
	module.remedy = "run it by node";
	profile->functions = fake_profile()->functions;
	profile->modules = &module;
	profile->module_count = 1;
	page = brief_page(profile);
	cr_expect(ne(ptr,
	             strstr(page, "no names for code that a JIT compiler made: run it by node\n"),
	             NULL),
	          "%s", page);
	free(page);
}

Test(text, a_brief_report_misses_kernel_functions_only_where_the_kernel_matters)
{
	static const char words[] = "no kernel functions";
	struct profile *profile = fake_profile();

	profile->run.rung = RUNG_PERF_USER;
	for (int matters = 0; matters <= 1; matters++) {
		profile->account.kernel_ns =
			profile->account.ns[METRIC_ON_CPU] / (matters ? 10 : 30);
		char *page = brief_page(profile);
		cr_expect_eq(strstr(page, words) != NULL, matters, "%s", page);
		free(page);
	}
}

Test(text, only_rows_that_matter_are_marked_as_ties)
{
	static const struct row rows[] = {
		{ .name = "first", .self = 400, .total = 400, .self_margin = 0.03, .tied = true },
		{ .name = "second", .self = 390, .total = 390, .self_margin = 0.03 },
		{ .name = "third", .self = 160, .total = 160, .self_margin = 0.02, .tied = true },
		{ .name = "fourth", .self = 40, .total = 40, .self_margin = 0.02, .tied = true },
		{ .name = "fifth", .self = 10, .total = 10, .self_margin = 0.02, .tied = true },
	};
	static const char legend[] = "~ not distinguishable from the next row";
	struct view view = view_default();
	struct profile *profile = fake_profile();

	view.sort = VIEW_SORT_SELF;
	profile->functions = rows;
	profile->function_count = sizeof(rows) / sizeof(rows[0]);
	profile->all = 1000;
	char *page = text_page(profile, &view, golden_terminal(100, false, false));
	char *mark = strchr(page, '~'), *rest = NULL;
	cr_assert(mark && strtok_r(mark, "\n", &rest));
	cr_expect(strstr(mark, "first") != NULL, "the marked row: %s", mark);
	cr_expect(strstr(rest, legend) == strchr(rest, '~'), "no other, and a legend: %s", rest);
	free(page);
	profile = fake_profile();
	profile->functions = rows + 1;
	profile->function_count = 4;
	profile->all = 1000;
	page = text_page(profile, &view, golden_terminal(100, false, false));
	cr_expect(not(strchr(page, '~') != NULL), "no mark, no legend: %s", page);
	free(page);
}

Test(text, threads_by_what_they_did)
{
	static const struct row rows[] = {
		{ .name = "worker",
		  .id = 4711,
		  .self = 4 * NS_PER_SEC,
		  .self_ns = { [METRIC_ON_CPU] = 3 * NS_PER_SEC,
		               [METRIC_OFF_LOCK] = 800 * NS_PER_MS,
		               [METRIC_OFF_FILE] = 200 * NS_PER_MS } },
		{ .name = "main",
		  .id = 4710,
		  .self = 4 * NS_PER_SEC,
		  .self_ns = { [METRIC_OFF_SLEEP] = 4 * NS_PER_SEC } },
	};
	struct view view = view_default();
	struct profile *profile = fake_profile();

	view.by.index = BY_THREAD;
	profile->others = rows;
	profile->other_count = 2;
	golden_expect("by-thread", text_page(profile, &view, golden_terminal(80, false, false)));
}

Test(text, an_empty_profile_says_so)
{
	struct profile *profile = fake_profile();
	struct view view = view_default();

	profile->run = (struct run){ .exit_status = 3 << 8, .complete = true, .notes = "" };
	profile->totals = (struct totals){ .processes = 1, .threads = 1 };
	profile->account = (struct account){ 0 };
	profile->function_count = profile->line_count = profile->module_count = 0;
	profile->all = 0;
	profile->tree = profile->wait_tree = NULL;
	golden_expect("empty", text_page(profile, &view, golden_terminal(100, false, false)));
}

static struct profile *profile_with_calls(void)
{
	static const struct called rows[] = {
		{ "Net.forward", "/app/net.py", 12, 1530, 153, 400 * NS_PER_MS, 1900 * NS_PER_MS, 0,
		  2 },
		{ "{method 'nonzero' of 'numpy.ndarray' objects}", NULL, 0, 150, 150, 2 * NS_PER_MS,
		  2 * NS_PER_MS, 2, 3 },
		{ "main.<locals>.<lambda>", "/app/net.py", 40, 1, 1, 0, 2 * NS_PER_SEC, 3, 3 },
	};
	static const struct called_edge edges[] = {
		{ 0, 0, 1377, 137, 300 * NS_PER_MS, 800 * NS_PER_MS },
		{ 2, 0, 153, 153, 100 * NS_PER_MS, 1900 * NS_PER_MS },
		{ 0, 1, 150, 150, 2 * NS_PER_MS, 2 * NS_PER_MS },
	};
	struct profile *profile = fake_profile();

	profile->called = rows;
	profile->called_count = 3;
	profile->called_edges = edges;
	profile->called_edge_count = 3;
	return profile;
}

Test(text, calls_are_printed_as_cprofile_prints_them)
{
	struct view view = view_default();

	view.as = "cprofile";
	view.top = 2;
	golden_expect("cprofile",
	              text_page(profile_with_calls(), &view, golden_terminal(100, false, false)));
	view.as = "cprofile-callers";
	golden_expect("cprofile_callers",
	              text_page(profile_with_calls(), &view, golden_terminal(100, false, false)));
	view.as = "cprofile-callees";
	view.top = 3;
	golden_expect("cprofile_callees",
	              text_page(profile_with_calls(), &view, golden_terminal(100, false, false)));
}

Test(text, that_no_calls_were_counted_is_said_in_their_place)
{
	struct view view = view_default();

	view.as = "cprofile";
	golden_expect("cprofile_none",
	              text_page(fake_profile(), &view, golden_terminal(100, false, false)));
}

Test(text, limits_tell_all_that_went_wrong)
{
	struct profile *profile = fake_profile_with_ops();
	struct view view = view_default();

	view.quiet = true;
	view.verbose = true;
	profile->run.rung = 2;
	profile->run.rung_reason = "perf_event_open: Permission denied";
	profile->run.rung_remedy = "Set kernel.perf_event_paranoid to 1.";
	profile->run.lost = 5000;
	profile->run.unseen_processes = 2;
	profile->run.unseen_name = "sudo";
	profile->run.off_cpu_exact = false;
	profile->run.exit_status = 11;
	profile->run.notes = "2 processes were still running\nsampling ended early: no memory";
	profile->run.handlers_ns = 12 * NS_PER_MS;
	profile->run.hooks_ops_ns = 420 * NS_PER_MS;
	profile->run.hooks_ns[OP_NVTX] = 400 * NS_PER_MS;
	profile->run.hooks_ns[OP_PYTHON] = 15 * NS_PER_MS;
	profile->run.hooks_ns[0] = 5 * NS_PER_MS;
	profile->run.hooks_memory_ns = 9 * NS_PER_MS;
	profile->run.hooks_cupti_ns = 30 * NS_PER_MS;
	profile->gpu_facts.overhead_ns = 25 * NS_PER_MS;
	profile->gpu_facts.losses[GPU_LOST_DROPPED] = 1;
	profile->gpu_facts.losses[GPU_LOST_CUBIN] = 1200;
	profile->totals.timeless = 1234;
	profile->totals.folded_ns = NS_PER_SEC;
	profile->totals.lost_events = 3;
	profile->doubts = (struct memory_doubts){
		.sampled_bytes = 1000, .untracked_bytes = 123, .samples = 97, .lost = 3
	};
	golden_expect("limits", text_page(profile, &view, golden_terminal(100, false, false)));
}
