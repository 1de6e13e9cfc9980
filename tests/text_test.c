// SPDX-License-Identifier: MIT
// The report of a hand-made profile, compared with tests/golden/. After a change that is meant:
// UPDATE_GOLDEN=1 text_test, and read the difference.
#include "cli/text.h"

#include "base/clock.h"
#include "base/error.h"
#include "cli/format.h"
#include "symbolize/symbolizer.h"
#include "tests/fake_profile.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

static struct terminal terminal(int width, bool color, bool ascii)
{
	struct terminal t = terminal_of(stdout, width, color ? COLOR_ALWAYS : COLOR_NEVER);

	t.ascii = ascii;
	if (ascii)
		t.dot = "-", t.bar = "|", t.plus_minus = "+-";
	return t;
}

static char *print(struct profile *profile, const struct view *view, struct terminal t)
{
	char *page = NULL;
	size_t size;
	struct error err;
	struct text text = {
		.out = open_memstream(&page, &size), .profile = profile, .view = view, .terminal = t
	};

	cr_assert(eq(int, text_print(&text, &err), 0), "%s", err.text);
	text_say(&text, "profile: last.bneck (bottleneck report)");
	fclose(text.out);
	return page;
}

static char *read_golden(const char *name)
{
	char path[256];
	char *page = calloc(1, 1 << 16);

	snprintf(path, sizeof(path), TESTS_DIR "/golden/%s.txt", name);
	FILE *file = fopen(path, "r");
	if (file) {
		page[fread(page, 1, (1 << 16) - 1, file)] = '\0';
		fclose(file);
	}
	return page;
}

static void expect_golden(const char *name, char *page)
{
	char path[256];

	if (getenv("UPDATE_GOLDEN")) {
		snprintf(path, sizeof(path), TESTS_DIR "/golden/%s.txt", name);
		FILE *file = fopen(path, "w");
		fputs(page, file);
		fclose(file);
	}
	char *golden = read_golden(name);
	cr_expect(eq(str, page, golden), "tests/golden/%s.txt", name);
	free(golden);
	free(page);
}

static void use_utf8(void)
{
	setlocale(LC_CTYPE, "C.UTF-8");
}

TestSuite(text, .init = use_utf8);

Test(text, the_whole_report_at_four_widths)
{
	static const int widths[] = { 60, 80, 100, 200 };
	struct view view = view_default();

	for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
		char name[32];
		snprintf(name, sizeof(name), "report-%d", widths[i]);
		expect_golden(name,
		              print(fake_profile(), &view, terminal(widths[i], false, false)));
	}
}

Test(text, in_colour_and_in_ascii)
{
	struct view view = view_default();

	expect_golden("report-color", print(fake_profile(), &view, terminal(100, true, false)));
	expect_golden("report-ascii", print(fake_profile(), &view, terminal(100, false, true)));
}

Test(text, no_line_is_wider_than_the_terminal)
{
	struct view view = view_default();

	view.verbose = true;
	for (int width = 60; width < 160; width++) {
		char *page = print(fake_profile(), &view, terminal(width, false, false));
		for (char *line = strtok(page, "\n"); line; line = strtok(NULL, "\n"))
			cr_expect(le(sz, format_width(line), (size_t)width), "at %d: %s", width,
			          line);
		free(page);
	}
}

Test(text, the_call_tree)
{
	struct view view = view_default();

	view.call_tree = true;
	expect_golden("call-tree", print(fake_profile(), &view, terminal(80, false, false)));
	expect_golden("call-tree-ascii", print(fake_profile(), &view, terminal(80, false, true)));
}

Test(text, one_table_by_module)
{
	struct view view = view_default();

	view.by.index = BY_MODULE;
	view.sort = VIEW_SORT_TOTAL;
	expect_golden("by-module", print(fake_profile(), &view, terminal(80, false, false)));
}

Test(text, quiet_is_the_answer_only)
{
	struct view view = view_default();

	view.quiet = true;
	expect_golden("quiet", print(fake_profile(), &view, terminal(100, false, false)));
}

Test(text, a_part_of_the_run_has_no_verdict_on_all_of_it)
{
	struct view view = view_default();

	view.from_ns = 2 * NS_PER_SEC;
	view.thread = "worker";
	view.on_cpu = true;
	expect_golden("window", print(fake_profile(), &view, terminal(100, false, false)));
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
	free(print(profile, &view, terminal(100, false, false)));
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
	char *page = print(profile, &view, terminal(100, false, false));
	cr_expect(eq(ptr, strstr(page, "wait4"), NULL));
	cr_expect(eq(ptr, strstr(page, "preempted"), NULL));
	cr_expect(ne(ptr, strstr(page, "100.0"), NULL)); // compile's share
	free(page);
	view.off_cpu = true;
	page = print(profile, &view, terminal(100, false, false));
	cr_expect(ne(ptr, strstr(page, "wait4"), NULL));
	cr_expect(ne(ptr, strstr(page, "preempted"), NULL));
	free(page);
}

// The first lines below the header.
static char *verdict_of(struct profile *profile)
{
	struct view view = view_default();
	char *page = print(profile, &view, terminal(300, false, false));
	char *start = strchr(page, '\n') + 1;
	char *end = strstr(start, "\n\n");

	if (end)
		*end = '\0';
	memmove(page, start, strlen(start) + 1);
	return page;
}

static void expect_verdict(struct profile *profile, const char *sentence)
{
	char *verdict = verdict_of(profile);

	cr_expect(ne(ptr, strstr(verdict, sentence), NULL), "no \"%s\" in \"%s\"", sentence,
	          verdict);
	free(verdict);
}

Test(text, the_verdict_names_one_number_and_one_place)
{
	expect_verdict(fake_profile(),
	               "61.1 % of the CPU time is spent in deflate_slow (deflate.c:1790).");
}

Test(text, a_library_function_is_blamed_on_its_caller)
{
	static const struct row row = { .name = "memcpy",
		                        .module = "/usr/lib/libc.so.6",
		                        .self = 900 * NS_PER_MS,
		                        .total = 900 * NS_PER_MS,
		                        .self_ns = { [METRIC_ON_CPU] = 900 * NS_PER_MS } };
	struct profile *profile = fake_profile();

	profile->functions = &row;
	profile->function_count = 1;
	profile->totals.on_cpu_ns = NS_PER_SEC;
	expect_verdict(profile, "90.0 % of the CPU time is spent in memcpy in libc.so.6, mostly "
	                        "called from deflate_slow (deflate.c:1790).");
}

Test(text, the_verdict_gives_the_share_that_the_tables_show_too)
{
	static const struct row rows[] = {
		{ .name = "deflate_slow",
		  .file = "/src/deflate.c",
		  .line = 1790,
		  .self = 900 * NS_PER_MS,
		  .total = 900 * NS_PER_MS,
		  .self_ns = { [METRIC_ON_CPU] = 900 * NS_PER_MS } },
		{ .name = "collect_results",
		  .file = "/src/pool.c",
		  .line = 120,
		  .self = 100 * NS_PER_MS,
		  .total = 100 * NS_PER_MS,
		  .self_ns = { [METRIC_ON_CPU] = 100 * NS_PER_MS,
		               [METRIC_OFF_FILE] = 1000 * NS_PER_MS,
		               [METRIC_OFF_CHILD] = 7000 * NS_PER_MS } },
	};
	struct profile *profile = fake_profile();

	profile->functions = rows;
	profile->function_count = 2;
	profile->totals.on_cpu_ns = NS_PER_SEC;
	expect_verdict(profile, "90.0 % of the CPU time (45.0 % of CPU + waiting) is spent in "
	                        "deflate_slow (deflate.c:1790).");
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
	char *page = print(profile, &view, terminal(120, false, false));
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

Test(text, waiting_is_blamed_on_the_users_own_function)
{
	struct profile *profile = fake_profile();

	profile->account.ns[METRIC_ON_CPU] = 11 * NS_PER_SEC;
	profile->account.ns[METRIC_OFF_LOCK] = 28801 * NS_PER_MS;
	profile->totals.on_cpu_ns = 11 * NS_PER_SEC;
	expect_verdict(profile, "69.8 % of the time the main thread waited for locks or other "
	                        "threads, mostly in collect_results (pool.c:120).");
}

Test(text, code_without_a_name_is_told_by_what_it_calls)
{
	struct call_node leaf = { .name = "clock_nanosleep", .module = "/usr/lib/libc.so.6" };
	struct call_node called = { .name = "nanosleep", .module = "/usr/lib/libc.so.6" };
	struct call_node own = { .name = "[sleep]", .module = "/usr/bin/sleep" };
	struct profile *profile = fake_profile();

	leaf.total = called.total = own.total = NS_PER_SEC;
	called.child = &leaf;
	own.child = &called;
	profile->wait_tree = &own;
	profile->account.ns[METRIC_ON_CPU] = 0;
	profile->account.ns[METRIC_OFF_SLEEP] = 38801 * NS_PER_MS;
	profile->totals.on_cpu_ns = 0;
	expect_verdict(profile, "signal, mostly in nanosleep in libc.so.6.");
}

Test(text, the_other_end_of_a_pipe_may_be_in_the_profile)
{
	struct profile *profile = fake_profile();

	profile->account.ns[METRIC_ON_CPU] = 0;
	profile->account.ns[METRIC_OFF_PIPE] = 38801 * NS_PER_MS;
	profile->totals.on_cpu_ns = NS_PER_SEC;
	expect_verdict(profile, "profile that program");
	profile->totals.processes = 2;
	expect_verdict(profile, "bottleneck report --by process");
}

Test(text, a_main_thread_that_waits_while_others_work_is_no_verdict)
{
	struct profile *profile = fake_profile();

	profile->account.ns[METRIC_ON_CPU] = 1 * NS_PER_SEC;
	profile->account.ns[METRIC_OFF_SLEEP] = 38801 * NS_PER_MS;
	expect_verdict(profile, "of the CPU time is spent in deflate_slow");
}

Test(text, waiting_for_children_is_not_a_verdict)
{
	struct profile *profile = fake_profile();

	profile->account.ns[METRIC_ON_CPU] = 11 * NS_PER_SEC;
	profile->account.ns[METRIC_OFF_LOCK] = 0;
	profile->account.ns[METRIC_OFF_CHILD] = 28801 * NS_PER_MS;
	expect_verdict(profile, "of the CPU time is spent in deflate_slow");
}

Test(text, a_thread_that_gets_no_cpu_is_told_so)
{
	struct profile *profile = fake_profile();

	profile->account.ns[METRIC_ON_CPU] = 20 * NS_PER_SEC;
	profile->account.ns[METRIC_OFF_RUNNABLE] = 21234 * NS_PER_MS;
	expect_verdict(profile, "the main thread was ready to run but had no CPU.");
	expect_verdict(profile, "of 8 CPUs: others had the rest.");
	profile->run.cpus = 1;
	profile->totals.on_cpu_ns = profile->run.wall_ns;
	expect_verdict(profile, "It kept the 1 CPU that it may use busy by itself: run fewer");
	profile->run.samples = 8;
	char *page = print(profile, &(struct view){ .quiet = true, .by = { -1, 0 }, .sort = -1 },
	                   terminal(200, false, false));
	cr_expect(not(strstr(page, "Of the CPU time") != NULL), "of 8 samples: %s", page);
	free(page);
}

Test(text, threads_that_get_no_cpu_are_told_where_the_main_thread_waits_for_them)
{
	struct profile *profile = fake_profile();

	profile->account.ns[METRIC_ON_CPU] = 1 * NS_PER_SEC;
	profile->account.ns[METRIC_OFF_NET] = 38801 * NS_PER_MS;
	profile->totals.on_cpu_ns = 10 * NS_PER_SEC;
	profile->totals.runnable_ns = 30 * NS_PER_SEC;
	expect_verdict(profile,
	               "75.0 % of the time that its threads could have run they had no CPU.");
	profile->totals.runnable_ns = 5 * NS_PER_SEC;
	expect_verdict(profile, "of the time the main thread waited for sockets or events");
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
	char *page = print(profile, &view, terminal(200, false, false));
	cr_expect(eq(ptr, strstr(page, "[jit 12]"), NULL));
	free(page);
	jit.reason = "2 of 3 places held other code before";
	page = print(profile, &view, terminal(200, false, false));
	cr_expect(ne(ptr, strstr(page, " %): 2 of 3 places held other code before"), NULL), "%s",
	          page);
	free(page);
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
	static const char legend[] = "~ cannot be told from the next row";
	struct view view = view_default();
	struct profile *profile = fake_profile();

	view.sort = VIEW_SORT_SELF;
	profile->functions = rows;
	profile->function_count = sizeof(rows) / sizeof(rows[0]);
	profile->all = 1000;
	char *page = print(profile, &view, terminal(100, false, false));
	char *mark = strchr(page, '~'), *rest = NULL;
	cr_assert(mark && strtok_r(mark, "\n", &rest));
	cr_expect(strstr(mark, "first") != NULL, "the marked row: %s", mark);
	cr_expect(strstr(rest, legend) == strchr(rest, '~'), "no other, and a legend: %s", rest);
	free(page);
	profile = fake_profile();
	profile->functions = rows + 1;
	profile->function_count = 4;
	profile->all = 1000;
	page = print(profile, &view, terminal(100, false, false));
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
	expect_golden("by-thread", print(profile, &view, terminal(80, false, false)));
}

Test(text, a_flat_profile_is_called_flat)
{
	static const struct row row = { .name = "f",
		                        .self = NS_PER_MS,
		                        .total = NS_PER_MS,
		                        .self_ns = { [METRIC_ON_CPU] = NS_PER_MS } };
	struct profile *profile = fake_profile();

	profile->functions = &row;
	profile->function_count = 1;
	expect_verdict(profile, "No function holds more than 4 % of the CPU time: the profile is "
	                        "flat.");
}

Test(text, hooks_that_take_more_than_the_program_are_told)
{
	static const struct row rows[] = { { .name = "[bottleneck]",
		                             .self = 3 * NS_PER_SEC,
		                             .total = 3 * NS_PER_SEC,
		                             .self_ns = { [METRIC_ON_CPU] = 3 * NS_PER_SEC } },
		                           { .name = "f",
		                             .self = NS_PER_SEC,
		                             .total = NS_PER_SEC,
		                             .self_ns = { [METRIC_ON_CPU] = NS_PER_SEC } } };
	struct profile *profile = fake_profile();

	profile->functions = rows;
	profile->function_count = 2;
	profile->totals.on_cpu_ns = 4 * NS_PER_SEC;
	expect_verdict(profile, "75.0 % of the CPU time is spent in bottleneck, which looks on at "
	                        "ops and allocations.");
}

Test(text, few_samples_rank_nothing)
{
	struct profile *profile = fake_profile();

	profile->run.samples = 12;
	expect_verdict(profile, "Only 12 samples on a CPU: too few to rank functions.");
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
	expect_golden("empty", print(profile, &view, terminal(100, false, false)));
}

Test(text, limits_tell_all_that_went_wrong)
{
	struct profile *profile = fake_profile();
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
	expect_golden("limits", print(profile, &view, terminal(100, false, false)));
}

Test(text, lines_inside_kernels_with_what_is_waited_for)
{
	static struct gpu_line lines[] = {
		{ "lines(float*, float const*, int)", "/src/lines.cu", 4, "inner(float, int)",
		  "/src/lines.cu", 17, 5300, "smsp__pcsamp_warps_issue_stalled_long_scoreboard",
		  4000, 0.009 },
		{ "lines(float*, float const*, int)", "/src/lines.cu", 16, NULL, "/src/lines.cu",
		  16, 3700, "smsp__pcsamp_warps_issue_stalled_selected", 3700, 0.008 },
		{ "void gemm<float, 128, 128, true>(float const*, float const*, float*)", NULL, 0,
		  NULL, NULL, 0, 1000, "smsp__pcsamp_warps_issue_stalled_new_reason", 600, 0.004 },
	};
	static const int widths[] = { 80, 120 };
	struct view view = view_default();

	for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
		char name[32];
		struct profile *profile = fake_profile();
		profile->gpu_lines = (struct gpu_line_rows){ .rows = lines,
			                                     .count = 3,
			                                     .samples = 10000,
			                                     .unnamed = 1000,
			                                     .dropped = 40,
			                                     .other = 700,
			                                     .lost = 10 };
		snprintf(name, sizeof(name), "gpu-lines-%d", widths[i]);
		expect_golden(name, print(profile, &view, terminal(widths[i], false, false)));
	}
}

Test(text, ops_and_memory_in_the_whole_report_at_three_widths)
{
	static const int widths[] = { 80, 100, 200 };
	struct view view = view_default();

	for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
		char name[32];
		struct profile *profile = fake_profile_with_ops();
		profile->run.hooks_ops_ns = NS_PER_SEC;
		profile->run.hooks_ns[OP_BLAS] = NS_PER_SEC;
		snprintf(name, sizeof(name), "ops-%d", widths[i]);
		expect_golden(name, print(profile, &view, terminal(widths[i], false, false)));
	}
}

Test(text, warm_up_comes_before_the_tables)
{
	static const char *const names[] = {
		[WARMUP_NONE] = "warmup-too-few",
		[WARMUP_INCLUDED] = "warmup-included",
		[WARMUP_TOO_SHORT] = "warmup-too-short",
		[WARMUP_NO_STEADY_STATE] = "warmup-no-steady-state",
		[WARMUP_SLOWS_DOWN] = "warmup-slows-down",
	};
	struct view view = view_default();

	view.quiet = true;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		expect_golden(names[i], print(fake_profile_with_warmup((enum warmup_verdict)i),
		                              &view, terminal(80, false, false)));
}

static bool says(struct profile *profile, const struct view *view, const char *words)
{
	char *page = print(profile, view, terminal(120, false, false));
	bool found = strstr(page, words) != NULL;

	free(page);
	return found;
}

Test(text, that_warm_up_cannot_be_told_is_a_limit)
{
	static const char words[] = "whether the run includes warm-up cannot be told";
	struct profile *p = fake_profile();
	const struct view view = { .by.index = -1 };

	cr_expect(not(says(p, &view, words)));
	p->warmup.unseen = true;
	cr_expect(says(p, &view, words));
	p->run.wall_ns = NS_PER_SEC - 1;
	cr_expect(not(says(p, &view, words)));
}

Test(text, from_the_end_of_the_warm_up)
{
	struct view view = view_default();

	view.quiet = true;
	view.from_steady = true;
	expect_golden("warmup-skipped", print(fake_profile_with_warmup(WARMUP_INCLUDED), &view,
	                                      terminal(80, false, false)));
	expect_golden("warmup-none", print(fake_profile(), &view, terminal(80, false, false)));
}

Test(text, steps)
{
	struct view view = view_default();

	view.quiet = false;
	view.top = 1;
	expect_golden("steps",
	              print(fake_profile_with_steps(), &view, terminal(100, false, false)));
	expect_golden("steps-ascii",
	              print(fake_profile_with_steps(), &view, terminal(80, false, true)));
	view.skip_first = 2;
	expect_golden("steps-skipped",
	              print(fake_profile_with_steps(), &view, terminal(100, false, false)));
	view.skip_first = 8;
	expect_golden("steps-too-few",
	              print(fake_profile_with_steps(), &view, terminal(100, false, false)));
}

Test(text, repeats)
{
	struct view view = view_default();
	struct profile *p = fake_profile_of_repeats(true);

	expect_golden("repeats-100", print(p, &view, terminal(100, false, false)));
	expect_golden("repeats-80", print(p, &view, terminal(80, false, true)));
	p->ratio.high = 1.01;
	expect_golden("repeats-same", print(p, &view, terminal(100, false, false)));
}

Test(text, ranks)
{
	struct view view = view_default();
	struct profile *p = fake_profile_of_ranks(4);

	expect_golden("ranks-100", print(p, &view, terminal(100, false, false)));
	p->ranks.straggles = false;
	p->ranks.because = NULL;
	p->ranks.skew_count = 0;
	p->ranks.step_ratio = 1.04;
	expect_golden("ranks-even", print(p, &view, terminal(100, false, false)));
	expect_golden("ranks-many",
	              print(fake_profile_of_ranks(40), &view, terminal(80, false, true)));
}

Test(text, repeats_of_one_command)
{
	struct view view = view_default();
	struct profile *p = fake_profile_of_repeats(false);
	struct repeat_row *row = &p->repeats.rows[0];

	expect_golden("repeats-one", print(p, &view, terminal(100, false, false)));
	row->range = "step";
	row->calls = 36;
	row->spread[REPEAT_CALL] = row->spread[REPEAT_WALL];
	expect_golden("repeats-range", print(p, &view, terminal(100, false, false)));
	row->range = NULL;
	row->spread[REPEAT_WALL].count = 5;
	row->spread[REPEAT_WALL].low = NAN;
	expect_golden("repeats-few", print(p, &view, terminal(100, false, false)));
}

Test(text, phases)
{
	struct view view = view_default();

	view.quiet = true;
	view.phase = PHASE_STARTUP;
	expect_golden("phase-startup",
	              print(fake_profile_with_steps(), &view, terminal(100, false, false)));
	expect_golden("phase-startup-none",
	              print(fake_profile(), &view, terminal(100, false, false)));
	view.phase = PHASE_WARMUP;
	expect_golden("phase-warmup", print(fake_profile_with_warmup(WARMUP_INCLUDED), &view,
	                                    terminal(100, false, false)));
	view.phase = PHASE_STEADY;
	expect_golden("phase-steady", print(fake_profile_with_warmup(WARMUP_INCLUDED), &view,
	                                    terminal(100, false, false)));
}

Test(text, ops_in_the_call_tree)
{
	struct view view = view_default();

	view.call_tree = true;
	expect_golden("ops-tree",
	              print(fake_profile_with_ops(), &view, terminal(80, false, false)));
	expect_golden("ops-tree-ascii",
	              print(fake_profile_with_ops(), &view, terminal(80, false, true)));
}

Test(text, whoever_asks_for_ops_gets_all_of_them_by_what_they_asked_for)
{
	static const int groupings[] = { VIEW_BY_OP, VIEW_BY_SHAPE, VIEW_BY_STACK, VIEW_BY_DOMAIN,
		                         BY_THREAD };
	static const char *const names[] = { "op", "shape", "stack", "domain", "thread" };
	static const enum op_by asked[] = { OPS_BY_OP, OPS_BY_SHAPE, OPS_BY_STACK, OPS_BY_DOMAIN,
		                            OPS_BY_THREAD };

	for (size_t i = 0; i < sizeof(groupings) / sizeof(groupings[0]); i++) {
		struct view view = view_default();
		struct profile *profile = fake_profile_with_ops();
		char name[32];
		view.ops = true;
		view.by.index = groupings[i];
		snprintf(name, sizeof(name), "ops-by-%s", names[i]);
		expect_golden(name, print(profile, &view, terminal(120, false, false)));
		cr_expect(eq(int, profile->ops_asked.by, asked[i]), "%s", names[i]);
	}
}

Test(text, ops_are_ranked_as_asked)
{
	static const struct {
		int sort;
		enum op_sort asked;
		const char *heading;
	} cases[] = {
		{ VIEW_SORT_TOTAL, OPS_SORT_TOTAL, "ops by total time" },
		{ VIEW_SORT_CALLS, OPS_SORT_CALLS, "ops by calls" },
		{ VIEW_SORT_MEMORY, OPS_SORT_MEMORY, "ops by allocated bytes" },
		{ VIEW_SORT_FLOPS, OPS_SORT_FLOPS, "ops by FLOP" },
		{ VIEW_SORT_AVERAGE, OPS_SORT_AVERAGE, "ops by average time" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct view view = view_default();
		struct profile *profile = fake_profile_with_ops();
		view.by.index = VIEW_BY_OP;
		view.sort = cases[i].sort;
		char *page = print(profile, &view, terminal(100, false, false));
		cr_expect(eq(int, profile->ops_asked.sort, cases[i].asked), "%s", cases[i].heading);
		cr_expect(ne(ptr, strstr(page, cases[i].heading), NULL), "%s", cases[i].heading);
		free(page);
	}
}

Test(text, who_launched_what_ran_on_the_gpu)
{
	static const struct {
		const char *name;
		int by, sort;
		enum query_sort asked;
	} tables[] = {
		{ "gpu-by-function", VIEW_BY_NONE, VIEW_SORT_GPU, SORT_GPU_SELF },
		{ "gpu-by-line", BY_LINE, VIEW_SORT_GPU_TOTAL, SORT_GPU_TOTAL },
		{ "gpu-by-thread", BY_THREAD, VIEW_SORT_GPU, SORT_GPU_SELF },
		{ "gpu-by-stream", VIEW_BY_STREAM, VIEW_SORT_NONE, SORT_SELF },
	};

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		struct profile *profile = fake_profile_with_gpu();
		struct view view = view_default();
		view.by.index = tables[i].by;
		view.sort = tables[i].sort;
		expect_golden(tables[i].name, print(profile, &view, terminal(100, false, false)));
		if (tables[i].by != VIEW_BY_STREAM)
			cr_expect(eq(int, profile->asked.sort, tables[i].asked));
	}
}

Test(text, whoever_asks_for_gpu_time_is_told_that_there_is_none)
{
	static const int groupings[] = { VIEW_BY_NONE, BY_LINE, BY_THREAD, VIEW_BY_STREAM,
		                         VIEW_BY_OP };

	for (size_t i = 0; i < sizeof(groupings) / sizeof(groupings[0]); i++) {
		struct view view = view_default();
		view.sort = VIEW_SORT_GPU;
		view.by.index = groupings[i];
		char *page = print(fake_profile_with_ops(), &view, terminal(100, false, false));
		cr_expect(ne(ptr, strstr(page, "  no GPU: the program ran nothing there"), NULL),
		          "%d: %s", groupings[i], page);
		free(page);
	}
}

Test(text, memory_by_function_and_by_line)
{
	struct view view = view_default();

	view.sort = VIEW_SORT_MEMORY;
	expect_golden("memory", print(fake_profile_with_ops(), &view, terminal(80, false, false)));
	struct device_row devices[] = {
		{ .device = "cuda:0",
		  .pid = 4711,
		  .command = "python3",
		  .peak_bytes = UINT64_C(3) << 30,
		  .peak_reserved_bytes = UINT64_C(5) << 30,
		  .last_bytes = 512,
		  .capacity_bytes = UINT64_C(80) << 30 },
		{ .device = "cuda:1", .pid = 4711, .command = "python3", .peak_bytes = 1 << 20 },
	};
	struct profile *on_gpus = fake_profile_with_ops();
	on_gpus->devices = (struct device_rows){ .rows = devices, .count = 2 };
	expect_golden("memory-of-gpus", print(on_gpus, &view, terminal(80, false, false)));
	on_gpus->devices.count = 0;
	view.by.index = BY_LINE;
	struct profile *profile = fake_profile_with_ops();
	expect_golden("memory-by-line", print(profile, &view, terminal(100, false, false)));
	cr_expect(eq(int, profile->memory_asked, MEMORY_BY_LINE));
}

Test(text, a_small_program_gets_no_table_of_memory)
{
	struct profile *profile = fake_profile_with_ops();
	struct view view = view_default();

	profile->memory.allocated_bytes = 200 << 20;
	profile->memory.peak_bytes = 20 << 20;
	char *page = print(profile, &view, terminal(100, false, false));
	cr_expect(eq(ptr, strstr(page, "\nmemory"), NULL));
	free(page);
}

Test(text, a_program_without_ops_is_told_so)
{
	struct view view = view_default();

	view.ops = true;
	char *page = print(fake_profile(), &view, terminal(100, false, false));
	cr_expect(ne(ptr, strstr(page, "There are none"), NULL));
	free(page);
}

Test(text, tables_with_ops_are_not_wider_than_the_terminal)
{
	static const int groupings[] = { VIEW_BY_NONE, VIEW_BY_OP, VIEW_BY_STACK, VIEW_BY_SHAPE };

	for (int width = 60; width < 220; width++) {
		struct view view = view_default();
		view.by.index = groupings[width % 4];
		char *page = print(fake_profile_with_ops(), &view, terminal(width, false, false));
		for (char *line = strtok(page, "\n"); line; line = strtok(NULL, "\n"))
			cr_expect(le(sz, format_width(line), (size_t)width), "at %d: %s", width,
			          line);
		free(page);
	}
}

Test(text, the_verdict_names_an_op_that_holds_half_of_the_time)
{
	struct op_row heavy[] = { { .name = "fftw_plan_dft_1d",
		                    .provider = "fftw",
		                    .domain = "",
		                    .shape = "",
		                    .stack = "",
		                    .file = "/src/pack/main.c",
		                    .line = 41,
		                    .calls = 1,
		                    .self_ns = 30 * NS_PER_SEC,
		                    .total_ns = 30 * NS_PER_SEC } };
	struct profile *profile = fake_profile_with_ops();

	profile->ops = heavy;
	profile->op_count = 1;
	expect_verdict(profile, "72.8 % of the time is in the op fftw_plan_dft_1d, mostly called "
	                        "from main.c:41.");
	heavy[0].self_ns = 20 * NS_PER_SEC;
	struct view view = { .quiet = true, .by = { -1, 0 }, .sort = -1 };
	char *page = print(profile, &view, terminal(200, false, false));
	cr_expect(eq(ptr, strstr(page, "in the op"), NULL), "%s", page);
	free(page);
}

Test(text, imports_of_python_at_two_widths)
{
	static const int widths[] = { 60, 100 };
	struct view view = view_default();

	for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
		char name[32];
		snprintf(name, sizeof(name), "imports-%d", widths[i]);
		expect_golden(name, print(fake_profile_with_imports(), &view,
		                          terminal(widths[i], false, false)));
	}
}

Test(text, few_imports_are_no_news)
{
	struct profile *profile = fake_profile_with_imports();
	struct view view = view_default();

	profile->imports.time = profile->imports.all * 51;
	char *page = print(profile, &view, terminal(100, false, false));
	cr_expect(strstr(page, "imports") == NULL);
	free(page);
}

Test(text, findings_at_two_widths)
{
	struct view view = view_default();
	struct profile *profile = fake_profile_with_findings();

	expect_golden("findings-100", print(profile, &view, terminal(100, false, false)));
	expect_golden("findings-60", print(profile, &view, terminal(60, false, true)));
}
