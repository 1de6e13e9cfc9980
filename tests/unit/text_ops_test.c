// SPDX-License-Identifier: MIT
// Ops, GPUs and memory in the report of a hand-made profile.
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/format.h"
#include "cli/report/sections.h"
#include "cli/report/view.h"
#include "tests/support/expect.h"
#include "tests/support/golden.h"
#include "tests/unit/text_page.h"

#include <stdlib.h>
#include <string.h>

TestSuite(text_ops, .init = golden_use_utf8);

Test(text_ops, lines_inside_kernels_with_what_is_waited_for)
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
		golden_expect(name,
		              text_page(profile, &view, golden_terminal(widths[i], false, false)));
	}
}

Test(text_ops, ops_and_memory_in_the_whole_report_at_three_widths)
{
	static const int widths[] = { 80, 100, 200 };
	struct view view = view_default();

	for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
		char name[32];
		struct profile *profile = fake_profile_with_ops();
		profile->run.hooks_ops_ns = NS_PER_SEC;
		profile->run.hooks_ns[OP_BLAS] = NS_PER_SEC;
		snprintf(name, sizeof(name), "ops-%d", widths[i]);
		golden_expect(name,
		              text_page(profile, &view, golden_terminal(widths[i], false, false)));
	}
}

Test(text_ops, ops_in_the_call_tree)
{
	struct view view = view_default();

	view.call_tree = true;
	golden_expect("ops-tree",
	              text_page(fake_profile_with_ops(), &view, golden_terminal(80, false, false)));
	golden_expect("ops-tree-ascii",
	              text_page(fake_profile_with_ops(), &view, golden_terminal(80, false, true)));
}

Test(text_ops, whoever_asks_for_ops_gets_all_of_them_by_what_they_asked_for)
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
		golden_expect(name, text_page(profile, &view, golden_terminal(120, false, false)));
		cr_expect(eq(int, profile->ops_asked.by, asked[i]), "%s", names[i]);
	}
}

Test(text_ops, ops_are_ranked_as_asked)
{
	static const struct {
		int sort;
		enum op_sort asked;
		const char *heading;
	} cases[] = {
		{ VIEW_SORT_TOTAL, OPS_SORT_TOTAL, "ops by total time" },
		{ VIEW_SORT_CALLS, OPS_SORT_CALLS, "ops by calls" },
		{ VIEW_SORT_MEMORY, OPS_SORT_MEMORY, "ops by allocated bytes" },
		{ VIEW_SORT_MEMORY_TOTAL, OPS_SORT_MEMORY_TOTAL,
		  "ops by allocated bytes, with callees" },
		{ VIEW_SORT_NET, OPS_SORT_NET, "ops by net bytes" },
		{ VIEW_SORT_NET_TOTAL, OPS_SORT_NET_TOTAL, "ops by net bytes, with callees" },
		{ VIEW_SORT_GPU_NET, OPS_SORT_GPU_MEMORY, "ops by net bytes on GPUs" },
		{ VIEW_SORT_GPU_NET_TOTAL, OPS_SORT_GPU_MEMORY_TOTAL,
		  "ops by net bytes on GPUs, with callees" },
		{ VIEW_SORT_FLOPS, OPS_SORT_FLOPS, "ops by FLOP" },
		{ VIEW_SORT_AVERAGE, OPS_SORT_AVERAGE, "ops by average time" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct view view = view_default();
		struct profile *profile = fake_profile_with_ops();
		view.by.index = VIEW_BY_OP;
		view.sort = cases[i].sort;
		char *page = text_page(profile, &view, golden_terminal(100, false, false));
		cr_expect(eq(int, profile->ops_asked.sort, cases[i].asked), "%s", cases[i].heading);
		cr_expect(ne(ptr, strstr(page, cases[i].heading), NULL), "%s", cases[i].heading);
		free(page);
	}
}

Test(text_ops, who_launched_what_ran_on_the_gpu)
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
		golden_expect(tables[i].name,
		              text_page(profile, &view, golden_terminal(100, false, false)));
		if (tables[i].by != VIEW_BY_STREAM)
			cr_expect(eq(int, profile->asked.sort, tables[i].asked));
	}
}

Test(text_ops, whoever_asks_for_gpu_time_is_told_that_there_is_none)
{
	static const int groupings[] = { VIEW_BY_NONE, BY_LINE, BY_THREAD, VIEW_BY_STREAM,
		                         VIEW_BY_OP };

	for (size_t i = 0; i < sizeof(groupings) / sizeof(groupings[0]); i++) {
		struct view view = view_default();
		view.sort = VIEW_SORT_GPU;
		view.by.index = groupings[i];
		char *page = text_page(fake_profile_with_ops(), &view,
		                       golden_terminal(100, false, false));
		cr_expect(ne(ptr, strstr(page, "  no GPU: the program ran nothing there"), NULL),
		          "%d: %s", groupings[i], page);
		free(page);
	}
}

Test(text_ops, memory_by_function_and_by_line)
{
	struct view view = view_default();

	view.sort = VIEW_SORT_MEMORY;
	golden_expect("memory",
	              text_page(fake_profile_with_ops(), &view, golden_terminal(80, false, false)));
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
	golden_expect("memory-of-gpus",
	              text_page(on_gpus, &view, golden_terminal(80, false, false)));
	on_gpus->devices.count = 0;
	view.by.index = BY_LINE;
	struct profile *profile = fake_profile_with_ops();
	golden_expect("memory-by-line",
	              text_page(profile, &view, golden_terminal(100, false, false)));
	cr_expect(eq(int, profile->memory_asked, MEMORY_BY_LINE));
}

static void add_curve(struct memory_curves *c, enum curve_kind kind, const char *name,
                      uint64_t peak_bytes)
{
	struct memory_curve *curve = memory_curves_get(c, kind, name);

	for (uint64_t i = 0; i <= 200; i++)
		memory_curve_add(curve, i * 100 * NS_PER_MS,
		                 peak_bytes / 100 * (i < 100 ? i : 200 - i));
}

Test(text_ops, memory_over_time_is_a_line_of_signs)
{
	struct profile *profile = fake_profile_with_ops();
	struct view view = view_default();

	view.sort = VIEW_SORT_MEMORY;
	add_curve(&profile->curves, CURVE_ALLOCATED, "host", UINT64_C(900) << 20);
	add_curve(&profile->curves, CURVE_RSS, "host", UINT64_C(1800) << 20);
	add_curve(&profile->curves, CURVE_DEVICE, "cuda:0", UINT64_C(4) << 30);
	add_curve(&profile->curves, CURVE_RESERVED, "cuda:0", UINT64_C(8) << 30);
	add_curve(&profile->curves, CURVE_PACKAGE, "numpy", UINT64_C(100) << 20);
	add_curve(&profile->curves, CURVE_PACKAGE, "torch", UINT64_C(600) << 20);
	add_curve(&profile->curves, CURVE_PACKAGE, "tiny", UINT64_C(1) << 20);
	golden_expect("memory-over-time",
	              text_page(profile, &view, golden_terminal(100, false, false)));
	golden_expect("memory-over-time-ascii",
	              text_page(profile, &view, golden_terminal(100, false, true)));
}

Test(text_ops, the_memory_of_one_process_is_told_from_that_of_all)
{
	struct profile *profile = fake_profile_with_ops();
	struct view view = view_default();

	view.sort = VIEW_SORT_MEMORY;
	profile->totals.processes = 4;
	add_curve(&profile->curves, CURVE_RSS, "host", UINT64_C(1800) << 20);
	char *page = text_page(profile, &view, golden_terminal(200, false, false));
	cr_expect(strstr(page, "\n  peak RSS of the largest process 123 MB; all processes: ") !=
	                  NULL,
	          "%s", page);
	cr_expect(strstr(page, "\n  RSS, sum  ") != NULL, "%s", page);
	cr_expect(strstr(page, "\n  sum: of all 4 processes at one moment, with what they share in "
	                       "each of them\n") != NULL,
	          "%s", page);
	cr_expect(
		strstr(page, "stacks truncated \u00b7 peak RSS of the largest process 123 MB\n") !=
			NULL,
		"%s", page);
	free(page);
}

Test(text_ops, a_small_program_gets_no_table_of_memory)
{
	struct profile *profile = fake_profile_with_ops();
	struct view view = view_default();

	profile->memory.allocated_bytes = 200 << 20;
	profile->memory.peak_bytes = 20 << 20;
	char *page = text_page(profile, &view, golden_terminal(100, false, false));
	cr_expect(eq(ptr, strstr(page, "\nmemory"), NULL));
	free(page);
}

// A runtime reserves its heap.
Test(text_ops, what_is_live_beyond_the_peak_rss_was_reserved)
{
	for (int reserved = 0; reserved <= 1; reserved++) {
		struct profile *profile = fake_profile_with_ops();
		struct view view = view_default();
		struct error err;
		view_make_brief(&view);
		if (reserved)
			profile->memory.peak_bytes = UINT64_C(3) << 30;
		cleanup(report) struct report r = report_of(profile, &view, READER_TEXT);
		const struct section *s = section_memory(&r, &err);
		cr_assert(s && s->notes, "%s", err.text);
		const char *words = s->notes->words;
		cr_expect(ne(ptr, strstr(words, "live at most "), NULL), "%s", words);
		cr_expect_eq(strstr(words, " (with what was reserved and not used), after ") !=
		                     NULL,
		             reserved, "%s", words);
	}
}

// Where no finding is about it, the peak RSS among the limits says enough.
Test(text_ops, one_screen_has_memory_only_where_a_finding_is_about_it)
{
	struct profile *profile = fake_profile_with_ops();
	struct view view = view_default();

	view_make_brief(&view);
	char *page = text_page(profile, &view, golden_terminal(200, false, false));
	const char *rss = strstr(page, "peak RSS ");
	cr_expect(rss && !strstr(rss + 1, "peak RSS "), "%s", page);
	cr_expect(eq(ptr, strstr(page, "live at most "), NULL), "%s", page);
	cr_expect(strstr(page, "\n  more in bottleneck report: ") && strstr(page, "memory\n"), "%s",
	          page);
	free(page);
}

Test(text_ops, a_program_without_ops_is_told_so)
{
	struct view view = view_default();

	view.ops = true;
	char *page = text_page(fake_profile(), &view, golden_terminal(100, false, false));
	cr_expect(ne(ptr, strstr(page, "There are none"), NULL));
	free(page);
}

static char *page_of_op(const struct op_row *op, struct view *view, uint64_t wall_ns)
{
	struct profile *profile = fake_profile_with_ops();

	profile->ops = op;
	profile->op_count = 1;
	if (wall_ns) {
		profile->run.wall_ns = wall_ns;
		profile->op_threads = 12;
	}
	return text_page(profile, view, golden_terminal(100, false, false));
}

// The operands that are none, and what a library's function takes, stand in no one's way.
Test(text_ops, a_row_has_room_for_the_shape_that_matters)
{
	static const struct op_row op = {
		.name = "aten::mkldnn_convolution",
		.provider = "torch",
		.domain = "",
		.shape = "[[5, 64, 56, 56], [64, 64, 3], [], [], []] float32",
		.stack = "",
		.function = "void dnnl::start(dnnl_kind_t, char const*)",
		.self_ns = 3 * NS_PER_SEC,
		.total_ns = 3 * NS_PER_SEC,
		.calls = 40,
	};
	struct view view = view_default();

	view.by.index = VIEW_BY_SHAPE;
	char *page = page_of_op(&op, &view, 0);
	cr_expect(strstr(page, " aten::mkldnn_convolution [[5, 64, 56, 56], [64, 64, 3]] ") != NULL,
	          "%s", page);
	cr_expect(strstr(page, "  dnnl::start\n") != NULL, "%s", page);
	cr_expect(eq(ptr, strstr(page, "%    %"), NULL), "%s", page);
	free(page);
}

// Of the run: threads that wait for work make no op cheaper.
Test(text_ops, one_screen_has_ops_that_take_a_part_of_the_run)
{
	static const struct op_row op = {
		.name = "conv",
		.provider = "torch",
		.domain = "",
		.shape = "",
		.stack = "",
		.self_ns = NS_PER_SEC,
		.total_ns = NS_PER_SEC,
		.calls = 40,
	};
	struct view view = view_default();

	view.brief = true;
	char *page = page_of_op(&op, &view, 10 * NS_PER_SEC);
	cr_expect(strstr(page, "\nops by self time") != NULL, "%s", page);
	free(page);
	page = page_of_op(&op, &view, 30 * NS_PER_SEC);
	cr_expect(eq(ptr, strstr(page, "\nops by self time"), NULL), "%s", page);
	free(page);
}

Test(text_ops, functions_that_were_counted_are_calls_of_the_hooks)
{
	static const struct called called[] = {
		{ .name = "fib", .file = "fib.py", .line = 3, .calls = 21891, .primitive = 1 },
	};
	struct profile *profile = fake_profile();
	struct view view = view_default();

	profile->called = called;
	profile->called_count = 1;
	profile->run.hooks_ops_ns = NS_PER_SEC;
	profile->run.hooks_ns[OP_PYTHON] = NS_PER_SEC;
	char *page = text_page(profile, &view, golden_terminal(200, false, false));
	cr_expect(strstr(page, " for 21,891 calls") != NULL, "%s", page);
	free(page);
}

Test(text_ops, tables_with_ops_are_not_wider_than_the_terminal)
{
	static const int groupings[] = { VIEW_BY_NONE, VIEW_BY_OP, VIEW_BY_STACK, VIEW_BY_SHAPE };

	for (int width = 60; width < 220; width++) {
		struct view view = view_default();
		view.by.index = groupings[width % 4];
		char *page = text_page(fake_profile_with_ops(), &view,
		                       golden_terminal(width, false, false));
		for (char *line = strtok(page, "\n"); line; line = strtok(NULL, "\n"))
			cr_expect(le(sz, format_width(line), (size_t)width), "at %d: %s", width,
			          line);
		free(page);
	}
}
