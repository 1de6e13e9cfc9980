// SPDX-License-Identifier: MIT
#include "tests/fake_profile.h"

#include "base/clock.h"
#include "symbolize/symbolizer.h"

#include <stdlib.h>
#include <string.h>

struct call_tree {
	struct call_node root;
};

const struct run *profile_run(const struct profile *p)
{
	return &p->run;
}

static int compare_totals(const void *a, const void *b)
{
	const struct row *left = a, *right = b;

	return left->total < right->total ? 1 : left->total > right->total ? -1 : 0;
}

struct rows *query_run(const struct profile *p, const struct query *query, struct error *err)
{
	const struct row *from = query->by == BY_FUNCTION ? p->functions
	                         : query->by == BY_LINE   ? p->lines
	                                                  : p->others;
	size_t count = query->by == BY_FUNCTION ? p->function_count
	               : query->by == BY_LINE   ? p->line_count
	                                        : p->other_count;
	struct rows *rows = calloc(1, sizeof(*rows));

	(void)err;
	((struct profile *)p)->asked = *query;
	rows->rows = calloc(count + 1, sizeof(*rows->rows));
	for (size_t i = 0; i < count; i++) {
		// A question about CPU time alone leaves out what waits.
		bool waits = from[i].self_ns[METRIC_ON_CPU] < from[i].self;
		if (query->on_cpu && !query->off_cpu && waits)
			continue;
		rows->rows[rows->count++] = from[i];
	}
	if (query->sort == SORT_TOTAL)
		qsort(rows->rows, rows->count, sizeof(*rows->rows), compare_totals);
	rows->all = query->on_cpu && !query->off_cpu ? p->totals.on_cpu_ns : p->all;
	return rows;
}

void rows_free(struct rows *rows)
{
	if (rows)
		free(rows->rows);
	free(rows);
}

struct call_tree *query_call_tree(const struct profile *p, const struct query *query,
                                  double min_share, struct error *err)
{
	struct call_tree *tree = calloc(1, sizeof(*tree));

	(void)min_share, (void)err;
	tree->root.name = "all";
	tree->root.child = query->off_cpu && !query->on_cpu ? p->wait_tree : p->tree;
	for (const struct call_node *node = tree->root.child; node; node = node->next)
		tree->root.total += node->total;
	return tree;
}

const struct call_node *call_tree_root(const struct call_tree *tree)
{
	return &tree->root;
}

void call_tree_free(struct call_tree *tree)
{
	free(tree);
}

int query_account(const struct profile *p, struct account *account, struct error *err)
{
	(void)err;
	*account = p->account;
	return 0;
}

struct module_rows *query_modules(const struct profile *p, struct error *err)
{
	struct module_rows *modules = calloc(1, sizeof(*modules));

	(void)err;
	modules->rows = (struct module_row *)p->modules;
	modules->count = p->module_count;
	return modules;
}

void module_rows_free(struct module_rows *rows)
{
	free(rows);
}

void query_totals(const struct profile *p, struct totals *totals)
{
	*totals = p->totals;
}

#define MS(n) ((uint64_t)(n)*NS_PER_MS)

#define ON_CPU(self_ms, total_ms)                                                                  \
	.self = MS(self_ms), .total = MS(total_ms), .self_ns = { [METRIC_ON_CPU] = MS(self_ms) },  \
	.total_ns = { [METRIC_ON_CPU] = MS(total_ms) }

static const struct row functions[] = {
	{ .name = "deflate_slow",
	  .file = "/src/zlib/deflate.c",
	  .line = 1790,
	  .module = "/home/u/bin/pack",
	  .self_margin = 0.012,
	  ON_CPU(19812, 24100) },
	{ .name = "longest_match",
	  .file = "/src/zlib/deflate.c",
	  .line = 1260,
	  .inlined = true,
	  .module = "/home/u/bin/pack",
	  .self_margin = 0.011,
	  .tied = true,
	  ON_CPU(9400, 9400) },
	{ .name = "pthread_cond_wait@@GLIBC_2.3.2",
	  .module = "/usr/lib/x86_64-linux-gnu/libc.so.6",
	  .self = MS(8800),
	  .total = MS(8800),
	  .self_ns = { [METRIC_OFF_LOCK] = MS(8800) },
	  .total_ns = { [METRIC_OFF_LOCK] = MS(8800) } },
	{ .name = "copy_user_enhanced_fast_string",
	  .kernel = true,
	  .module = "[kernel]",
	  .self_margin = 0.004,
	  ON_CPU(1210, 1210) },
	{ .name = "std::__detail::_Map_base<std::__cxx11::basic_string<char>, std::pair<const "
	          "std::__cxx11::basic_string<char>, int>, std::allocator<int>, true>::operator[]",
	  .file = "/src/pack/a_directory_with_a_long_name/and_a_rather_long_file_name.cpp",
	  .line = 12345,
	  .module = "/home/u/bin/pack",
	  .self_margin = 0.003,
	  ON_CPU(900, 980) },
	{ .name = "evil\033[31mname\n",
	  .module = "/opt/x/libfoo.so",
	  .self_margin = 0.002,
	  ON_CPU(700, 700) },
	{ .name = "main",
	  .file = "/src/pack/main.c",
	  .line = 41,
	  .module = "/home/u/bin/pack",
	  ON_CPU(0, 31200) },
	{ .name = "_start", .module = "/home/u/bin/pack", ON_CPU(0, 41200) },
};

static const struct row lines[] = {
	{ .name = "deflate.c:1790",
	  .file = TESTS_DIR "/golden/source.c",
	  .line = 5,
	  .module = "/home/u/bin/pack",
	  ON_CPU(12000, 12000) },
	{ .name = "main.c:41",
	  .file = TESTS_DIR "/golden/source.c",
	  .line = 6,
	  .module = "/home/u/bin/pack",
	  ON_CPU(7000, 7000) },
	{ .name = "?", ON_CPU(6000, 6000) },
	{ .name = "gone.c:7",
	  .file = "/nowhere/gone.c",
	  .line = 7,
	  .module = "/home/u/bin/pack",
	  ON_CPU(400, 400) },
};

static const struct row modules_by[] = {
	{ .name = "/home/u/bin/pack", ON_CPU(30000, 31000) },
	{ .name = "[kernel]", .kernel = true, ON_CPU(1210, 1210) },
};

static struct call_node memcpy_node = {
	.name = "memcpy", .module = "/usr/lib/libc.so.6", .self = MS(900), .total = MS(900)
};
static struct call_node match_node = { .name = "longest_match",
	                               .file = "/src/zlib/deflate.c",
	                               .line = 1260,
	                               .module = "/home/u/bin/pack",
	                               .inlined = true,
	                               .self = MS(9400),
	                               .total = MS(9400),
	                               .next = &memcpy_node };
static struct call_node deflate_node = { .name = "deflate_slow",
	                                 .file = "/src/zlib/deflate.c",
	                                 .line = 1790,
	                                 .module = "/home/u/bin/pack",
	                                 .self = MS(19812),
	                                 .total = MS(30112),
	                                 .child = &match_node };
static struct call_node read_node = {
	.name = "read", .module = "/usr/lib/libc.so.6", .self = MS(300), .total = MS(300)
};
static struct call_node main_node = { .name = "main",
	                              .file = "/src/pack/main.c",
	                              .line = 41,
	                              .module = "/home/u/bin/pack",
	                              .total = MS(30412),
	                              .child = &deflate_node };
static struct call_node start_node = {
	.name = "_start", .module = "/home/u/bin/pack", .total = MS(30412), .child = &main_node
};

static struct call_node cond_node = { .name = "pthread_cond_wait@@GLIBC_2.3.2",
	                              .module = "/usr/lib/libc.so.6",
	                              .self = MS(8800),
	                              .total = MS(8800) };
static struct call_node join_node = { .name = "collect_results",
	                              .file = "/src/pack/pool.c",
	                              .line = 120,
	                              .module = "/home/u/bin/pack",
	                              .total = MS(8800),
	                              .child = &cond_node };

static const struct module_row modules[] = {
	{ .path = "/home/u/bin/pack",
	  .self_ns = MS(30100),
	  .level = DEBUG_LINES,
	  .reason = "",
	  .remedy = "" },
	{ .path = "/usr/lib/x86_64-linux-gnu/libc.so.6",
	  .self_ns = MS(8800),
	  .level = DEBUG_DYNAMIC,
	  .reason = "no debug information",
	  .remedy = "install libc6-dbg" },
	{ .path = "[kernel]",
	  .self_ns = MS(1210),
	  .level = DEBUG_SYMBOLS,
	  .reason = "",
	  .remedy = "" },
	{ .path = "/opt/x/libfoo.so",
	  .self_ns = MS(700),
	  .level = DEBUG_NONE,
	  .reason = "stripped",
	  .remedy = "compile with -g" },
	{ .path = "/usr/lib/libtiny.so",
	  .self_ns = MS(1),
	  .level = DEBUG_NONE,
	  .reason = "",
	  .remedy = "" },
};

struct profile *fake_profile(void)
{
	static struct profile p;

	deflate_node.next = &read_node;
	p = (struct profile){
		.run = { .command = "./pack --level 9 'my input.tar' output.gz",
		         .directory = "/tmp",
		         .host = "host",
		         .kernel = "6.1.0",
		         .version = "0.1.0",
		         .wall_ns = MS(41234),
		         .cpus = 8,
		         .rung = 1,
		         .frequency_hz = 999,
		         .samples = 41022,
		         .truncated = 123,
		         .joined = 12,
		         .target_cpu_ns = MS(32400),
		         .collector_cpu_ns = MS(453),
		         .peak_rss_bytes = 123 << 20,
		         .kernel_stacks = true,
		         .off_cpu_exact = true,
		         .complete = true },
		.totals = { .processes = 1,
		            .threads = 3,
		            .on_cpu_ns = MS(32400),
		            .off_cpu_ns = MS(8800),
		            .bin_ns = MS(10) },
		.account = { .thread = "pack",
		             .process = "pack",
		             .tid = 4711,
		             .pid = 4711,
		             .is_main = true,
		             .exact = true,
		             .lifetime_ns = MS(41234),
		             .ns = { [METRIC_ON_CPU] = MS(31000),
		                     [METRIC_OFF_LOCK] = MS(8801),
		                     [METRIC_OFF_FILE] = MS(1433) },
		             .kernel_ns = MS(1210) },
		.functions = functions,
		.function_count = sizeof(functions) / sizeof(functions[0]),
		.lines = lines,
		.line_count = sizeof(lines) / sizeof(lines[0]),
		.others = modules_by,
		.other_count = sizeof(modules_by) / sizeof(modules_by[0]),
		.all = MS(41200),
		.tree = &start_node,
		.wait_tree = &join_node,
		.modules = modules,
		.module_count = sizeof(modules) / sizeof(modules[0]),
	};
	return &p;
}
