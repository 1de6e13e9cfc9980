// SPDX-License-Identifier: MIT
#include "tests/unit/fake_profile.h"

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

static void leave_out(struct rows *rows, struct row *row, enum metric metric)
{
	row->self -= row->self_ns[metric];
	row->total -= row->total_ns[metric];
	rows->all -= row->self_ns[metric];
}

static void leave_out_others(struct rows *rows)
{
	size_t count = 0;

	for (size_t i = 0; i < rows->count; i++) {
		struct row row = rows->rows[i];
		leave_out(rows, &row, METRIC_OFF_RUNNABLE);
		leave_out(rows, &row, METRIC_OFF_CHILD);
		if (row.total || row.gpu_total_ns)
			rows->rows[count++] = row;
	}
	rows->count = count;
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
	for (size_t i = 0; i < rows->count; i++)
		rows->gpu_all_ns += rows->rows[i].gpu_self_ns;
	if (query->sort == SORT_TOTAL)
		qsort(rows->rows, rows->count, sizeof(*rows->rows), compare_totals);
	rows->all = query->on_cpu && !query->off_cpu ? p->totals.on_cpu_ns : p->all;
	if (query->on_cpu == query->off_cpu && query->without_others)
		leave_out_others(rows);
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
	if (query->of == QUERY_THREADS)
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

int query_account_in(const struct profile *p, uint64_t from_ns, uint64_t to_ns,
                     struct account *account, struct error *err)
{
	query_account(p, account, err);
	if (from_ns || to_ns)
		account->exact = false;
	return 0;
}

uint64_t query_on_cpu_ns(const struct profile *p, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t end = to_ns && to_ns < p->run.wall_ns ? to_ns : p->run.wall_ns;

	return (uint64_t)((double)p->totals.on_cpu_ns * (double)(end - from_ns) /
	                  (double)p->run.wall_ns);
}

int query_startup(const struct profile *p, uint64_t limit_ns, struct startup *startup,
                  struct error *err)
{
	(void)limit_ns, (void)err;
	*startup = p->startup;
	return 0;
}

struct steps *query_steps(const struct profile *p, const struct steps_query *query,
                          struct error *err)
{
	struct steps *steps = calloc(1, sizeof(*steps));

	(void)err;
	*steps = p->steps;
	for (size_t i = 0; i < p->steps.count && p->steps.steps[i].begin_ns < query->from_ns; i++) {
		steps->steps++;
		steps->count--;
	}
	return steps;
}

bool profile_has_repeats(const struct profile *p)
{
	return p->repeats.count > 0;
}

struct rank_rows *query_ranks(const struct profile *p, struct error *err)
{
	struct rank_rows *rows = calloc(1, sizeof(*rows));

	(void)err;
	*rows = p->ranks;
	return rows;
}

void rank_rows_free(struct rank_rows *rows)
{
	free(rows); // what is in it is the test's
}

struct repeat_rows *query_repeats(const struct profile *p, struct error *err)
{
	struct repeat_rows *rows = calloc(1, sizeof(*rows));

	(void)err;
	*rows = p->repeats;
	return rows;
}

void repeat_rows_free(struct repeat_rows *rows)
{
	free(rows);
}

int query_repeat_ratio(const struct profile *p, uint32_t base, uint32_t other,
                       enum repeat_metric metric, struct spread *ratio, struct error *err)
{
	(void)base, (void)other, (void)metric, (void)err;
	*ratio = p->ratio;
	return 0;
}

int query_causes(const struct profile *p, const struct warmup_rows *rows, struct causes *causes,
                 struct error *err)
{
	(void)rows, (void)err;
	*causes = p->causes;
	return 0;
}

const char *cause_name(enum cause cause)
{
	return cause == CAUSE_COMPILER ? "compilation"
	       : cause == CAUSE_FAULTS ? "page faults"
	                               : "?";
}

void steps_free(struct steps *s)
{
	free(s);
}

int steps_explain(const struct profile *p, const struct steps *s, size_t index,
                  struct step_excess out[STEP_EXCESSES], struct error *err)
{
	size_t at = (size_t)(s->steps - p->steps.steps) + index;
	int count = 0;

	(void)err;
	for (; p->excesses && count < STEP_EXCESSES; count++) {
		out[count] = p->excesses[at * STEP_EXCESSES + (size_t)count];
		if (!out[count].excess_ns)
			break;
	}
	return count;
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

struct op_rows *query_ops(const struct profile *p, const struct op_query *query, struct error *err)
{
	struct op_rows *rows = calloc(1, sizeof(*rows));

	(void)err;
	((struct profile *)p)->ops_asked = *query;
	rows->rows = (struct op_row *)p->ops;
	rows->count = p->op_count;
	rows->wall_ns = p->run.wall_ns;
	for (size_t i = 0; i < p->op_count; i++)
		rows->calls += p->ops[i].calls;
	return rows;
}

void op_rows_free(struct op_rows *rows)
{
	free(rows);
}

struct memory_rows *query_memory(const struct profile *p, enum memory_by by, bool at_peak,
                                 struct error *err)
{
	struct memory_rows *rows = calloc(1, sizeof(*rows));

	(void)at_peak, (void)err;
	((struct profile *)p)->memory_asked = by;
	*rows = p->memory;
	return rows;
}

struct counter_rows *query_counters(const struct profile *p, const struct query *query,
                                    struct error *err)
{
	struct counter_rows *rows = calloc(1, sizeof(*rows));

	(void)query;
	(void)err;
	*rows = p->counters;
	return rows;
}

struct device_rows *query_devices(const struct profile *p, const struct query *query,
                                  struct error *err)
{
	struct device_rows *rows = calloc(1, sizeof(*rows));

	(void)query;
	(void)err;
	*rows = p->devices;
	return rows;
}

struct gpu_rows *query_gpu(const struct profile *p, const struct query *query, struct error *err)
{
	struct gpu_rows *rows = calloc(1, sizeof(*rows));

	(void)query;
	(void)err;
	*rows = p->gpu;
	return rows;
}

struct gpu_facts *query_gpu_facts(const struct profile *p, const struct query *query,
                                  struct error *err)
{
	struct gpu_facts *facts = calloc(1, sizeof(*facts));

	(void)query;
	(void)err;
	*facts = p->gpu_facts;
	return facts;
}

struct gpu_stream_rows *query_gpu_streams(const struct profile *p, struct error *err)
{
	struct gpu_stream_rows *rows = calloc(1, sizeof(*rows));

	(void)err;
	*rows = p->gpu_streams;
	return rows;
}

void gpu_stream_rows_free(struct gpu_stream_rows *rows)
{
	free(rows);
}

struct gpu_line_rows *query_gpu_lines(const struct profile *p, struct error *err)
{
	struct gpu_line_rows *rows = calloc(1, sizeof(*rows));

	(void)err;
	*rows = p->gpu_lines;
	return rows;
}

void gpu_line_rows_free(struct gpu_line_rows *rows)
{
	free(rows);
}

struct warmup_rows *query_warmup(const struct profile *p, const struct query *query,
                                 struct error *err)
{
	struct warmup_rows *rows = calloc(1, sizeof(*rows));

	(void)err;
	// Behind the warm-up there is none.
	if (!query->from_ns)
		*rows = p->warmup;
	return rows;
}

void warmup_rows_free(struct warmup_rows *rows)
{
	free(rows);
}

void counter_rows_free(struct counter_rows *rows)
{
	free(rows);
}

void gpu_rows_free(struct gpu_rows *rows)
{
	free(rows);
}

struct gpu_wait *query_gpu_wait(const struct profile *p, const struct query *query,
                                struct error *err)
{
	(void)p;
	(void)query;
	(void)err;
	return calloc(1, sizeof(struct gpu_wait));
}

void gpu_wait_free(struct gpu_wait *wait)
{
	free(wait);
}

void gpu_facts_free(struct gpu_facts *facts)
{
	free(facts);
}

static const struct rule fake_rules[] = {
	{ .id = "CPU-LOCK", .subject = RULES_CPU },
	{ .id = "IO-WAIT", .subject = RULES_IO },
	{ .id = "MEAS-SHORT", .subject = RULES_QUALITY },
	{ .id = "PY-GIL", .subject = RULES_PYTHON },
};

size_t rule_count(void)
{
	return sizeof(fake_rules) / sizeof(fake_rules[0]);
}

const struct rule *rule_at(size_t index)
{
	return &fake_rules[index];
}

const char *severity_name(enum severity severity)
{
	static const char *const names[] = { "info", "warn", "error" };

	return names[severity];
}

struct findings *query_findings(const struct profile *p, const struct query *query,
                                const struct rule_limits *limits, struct error *err)
{
	struct findings *f = calloc(1, sizeof(*f));

	(void)query, (void)limits, (void)err;
	f->answer_count = rule_count();
	f->answers = calloc(f->answer_count, sizeof(*f->answers));
	f->answers[3] = (struct rule_answer){ .state = RULE_UNKNOWN, .why = "no Python ran" };
	f->items = (struct finding *)p->findings;
	f->count = p->finding_count;
	f->shown = p->findings_shown;
	f->wall_ns = p->run.wall_ns;
	return f;
}

void findings_free(struct findings *f)
{
	if (f)
		free(f->answers);
	free(f);
}

void device_rows_free(struct device_rows *rows)
{
	free(rows);
}

struct import_rows *query_imports(const struct profile *p, const struct query *query,
                                  struct error *err)
{
	struct import_rows *rows = malloc(sizeof(*rows));

	(void)query, (void)err;
	*rows = p->imports;
	return rows;
}

void import_rows_free(struct import_rows *rows)
{
	free(rows);
}

void query_memory_doubts(const struct profile *p, struct memory_doubts *out)
{
	*out = p->doubts;
}

void memory_rows_free(struct memory_rows *rows)
{
	free(rows);
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

static struct call_node memcpy_node = { .name = "memcpy",
	                                .module = "/usr/lib/libc.so.6",
	                                .call_line = 1790,
	                                .self = MS(900),
	                                .total = MS(900) };
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
	                              .call_line = 120,
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

#define US(n) ((uint64_t)(n)*NS_PER_US)
#define MB(n) ((uint64_t)(n) << 20)

static const struct op_row ops[] = {
	{ .name = "dgemm_",
	  .provider = "blas",
	  .domain = "",
	  .shape = "[256, 128, 300]",
	  .stack = "step (train.c:12) < main (train.c:80)",
	  .file = "/src/pack/train.c",
	  .line = 12,
	  .thread = "worker",
	  .tid = 4712,
	  .calls = 12040,
	  .self_ns = MS(9300),
	  .total_ns = MS(9300),
	  .average_ns = US(772),
	  .first_ns = US(45210),
	  .min_ns = US(702),
	  .max_ns = US(45210),
	  .median_ns = US(761),
	  .q1_ns = US(733),
	  .q3_ns = US(806),
	  .allocated_bytes = MB(1),
	  .self_allocated_bytes = MB(1),
	  .flops = UINT64_C(236716032000) },
	{ .name = "forward",
	  .provider = "nvtx",
	  .domain = "model",
	  .shape = "",
	  .stack = "main (train.c:80)",
	  .file = "/src/pack/a_directory_with_a_long_name/and_a_rather_long_file_name.cpp",
	  .line = 12345,
	  .thread = "pack",
	  .tid = 4711,
	  .calls = 100,
	  .left_open = 1,
	  .self_ns = MS(812),
	  .total_ns = MS(10112),
	  .average_ns = US(101120),
	  .first_ns = MS(150),
	  .min_ns = MS(99),
	  .max_ns = MS(160),
	  .median_ns = MS(101),
	  .q1_ns = MS(100),
	  .q3_ns = MS(102),
	  .allocated_bytes = MB(900),
	  .self_allocated_bytes = MB(899) },
	{ .name = "tick \033[31m",
	  .provider = "itt",
	  .domain = "",
	  .shape = "",
	  .stack = "",
	  .thread = "pack",
	  .tid = 4711,
	  .calls = 1700412,
	  .untimed = 1200,
	  .self_ns = MS(301),
	  .total_ns = MS(301),
	  .average_ns = 177,
	  .first_ns = 310,
	  .min_ns = 95,
	  .max_ns = US(1200),
	  .median_ns = 150,
	  .q1_ns = 140,
	  .q3_ns = 171 },
	{ .name = "here", .provider = "nvtx", .domain = "", .shape = "", .stack = "", .marks = 12 },
};

static struct counter_row counters[] = {
	{ .name = "queue",
	  .provider = "itt",
	  .domain = "io",
	  .changes = 1700412,
	  .untold = 120,
	  .last = 3,
	  .min = -2,
	  .max = 4096,
	  .average = 17.25,
	  .sum = 29332107 },
	{ .name = "load",
	  .provider = "nvtx",
	  .domain = "",
	  .changes = 4,
	  .last = 0.25,
	  .min = 0.25,
	  .max = 2.5,
	  .average = 1.5,
	  .sum = 6e30 },
	{ .name = "never told", .provider = "nvtx", .domain = "", .untold = 1 },
};

static struct memory_row sites[] = {
	{ .name = "deflate_slow",
	  .file = TESTS_DIR "/golden/source.c",
	  .line = 5,
	  .module = "/home/u/bin/pack",
	  .allocated_bytes = MB(1800),
	  .total_allocated_bytes = MB(1810),
	  .live_at_peak_bytes = MB(3),
	  .samples = 3600,
	  .margin = 0.021 },
	{ .name = "main",
	  .file = TESTS_DIR "/golden/source.c",
	  .line = 6,
	  .module = "/home/u/bin/pack",
	  .allocated_bytes = MB(90),
	  .total_allocated_bytes = MB(1900),
	  .live_at_peak_bytes = MB(88),
	  .live_at_end_bytes = MB(4),
	  .samples = 180,
	  .margin = 0.007 },
	{ .name = "small",
	  .module = "/usr/lib/libtiny.so",
	  .allocated_bytes = MB(2),
	  .samples = 4 },
};

static struct call_node gemm_node = { .name = "dgemm_kernel",
	                              .module = "/usr/lib/libblas.so.3",
	                              .self = MS(9300),
	                              .total = MS(9300) };
static struct call_node forward_node = {
	.name = "forward", .op = true, .self = MS(812), .total = MS(10112), .child = &gemm_node
};

struct profile *fake_profile_with_ops(void)
{
	struct profile *p = fake_profile();

	deflate_node.next = NULL;
	p->ops = ops;
	p->op_count = sizeof(ops) / sizeof(ops[0]);
	p->counters = (struct counter_rows){ .rows = counters,
		                             .count = sizeof(counters) / sizeof(counters[0]) };
	p->memory = (struct memory_rows){ .rows = sites,
		                          .count = sizeof(sites) / sizeof(sites[0]),
		                          .allocations = 3456789,
		                          .frees = 3456700,
		                          .allocated_bytes = MB(1900),
		                          .freed_bytes = MB(1896),
		                          .peak_bytes = MB(92),
		                          .peak_ns = MS(3210),
		                          .end_bytes = MB(4),
		                          .samples = 3800 };
	deflate_node.next = &forward_node;
	return p;
}

static struct import_row imports[] = {
	{ .name = "torch",
	  .file = "/usr/lib/python3/dist-packages/torch/__init__.py",
	  .importer = "/home/u/train.py",
	  .importer_line = 3,
	  .self = MS(101),
	  .total = MS(1104) },
	{ .name = "torch.a_package_with_a_long_name.and_a_module_with_an_even_longer_name",
	  .file = "/usr/lib/python3/dist-packages/torch/x.py",
	  .importer = "/usr/lib/python3/dist-packages/torch/__init__.py",
	  .importer_line = 1204,
	  .self = MS(300),
	  .total = MS(300) },
	{ .name = "evil \033[31m", .file = "", .self = MS(200), .total = MS(220) },
	{ .name = "small", .file = "/small.py", .self = MS(90), .total = MS(90) },
};

struct profile *fake_profile_with_imports(void)
{
	struct profile *p = fake_profile();

	p->imports = (struct import_rows){ .rows = imports,
		                           .count = sizeof(imports) / sizeof(imports[0]),
		                           .thread = "python3",
		                           .process = "python3",
		                           .tid = 4711,
		                           .pid = 4711,
		                           .all = MS(1902),
		                           .time = MS(3204),
		                           .others = MS(812) };
	return p;
}

static struct warmup_row warming[] = {
	{ .name = "aten::convolution_with_a_very_long_name_that_nobody_reads_to_its_end",
	  .provider = "torch",
	  .domain = "",
	  .shape = "[64, 3, 224, 224] [64, 3, 7, 7]",
	  .calls = 40,
	  .judged = { .calls = 3, .excess = 0.61, .ratio = 12.4, .steady_ns = 650e3 },
	  .slow_ns = MS(1810),
	  .excess_ns = MS(1800),
	  .end_ns = MS(2310) },
	{ .name = "load",
	  .provider = "nvtx",
	  .domain = "io",
	  .shape = "",
	  .calls = 12,
	  .judged = { .calls = 1, .excess = 0.3, .ratio = 60, .steady_ns = 2e6 },
	  .slow_ns = MS(122),
	  .excess_ns = MS(120),
	  .end_ns = MS(150) },
};

static struct run_step steps[] = {
	{ .first = 1, .calls = 1, .begin_ns = MS(800), .end_ns = MS(1110), .ns = MS(310) },
	{ .first = 2, .calls = 1, .begin_ns = MS(1110), .end_ns = MS(1175), .ns = MS(65) },
	{ .first = 3, .calls = 1, .begin_ns = MS(1175), .end_ns = MS(1187), .ns = MS(12) },
	{ .first = 4, .calls = 1, .begin_ns = MS(1187), .end_ns = MS(1198), .ns = MS(11) },
	{ .first = 5, .calls = 4, .begin_ns = MS(1198), .end_ns = MS(1294), .ns = MS(24) },
};

static const struct step_excess excesses[][STEP_EXCESSES] = {
	{ { .name = "compile", .file = "/src/jit.c", .line = 12, .excess_ns = MS(200) },
	  { .name = "read",
	    .file = "/src/io.c",
	    .line = 120,
	    .metric = METRIC_OFF_FILE,
	    .excess_ns = MS(80) } },
	{ { .name = "read", .metric = METRIC_OFF_FILE, .excess_ns = MS(40) } },
	{ { .excess_ns = 0 } },
	{ { .excess_ns = 0 } },
	{ { .excess_ns = 0 } },
};

struct profile *fake_profile_with_steps(void)
{
	struct profile *p = fake_profile();

	p->startup = (struct startup){ .ns = MS(700), .causes = { [CAUSE_IMPORTS] = MS(650) } };
	p->excesses = excesses[0];
	p->steps = (struct steps){ .name = "train step",
		                   .provider = "nvtx",
		                   .domain = "",
		                   .shape = "",
		                   .between = true,
		                   .labelled = true,
		                   .steps = steps,
		                   .count = sizeof(steps) / sizeof(steps[0]),
		                   .calls = 8,
		                   .sum_ns = MS(494),
		                   .min_ns = MS(11),
		                   .max_ns = MS(310),
		                   .median_ns = MS(12),
		                   .q1_ns = MS(11),
		                   .q3_ns = MS(24),
		                   .p95_ns = MS(310) };
	return p;
}

struct profile *fake_profile_with_warmup(enum warmup_verdict verdict)
{
	struct profile *p = fake_profile();

	for (size_t i = 0; i < sizeof(warming) / sizeof(warming[0]); i++)
		warming[i].judged.verdict = verdict;
	p->warmup = (struct warmup_rows){ .verdict = verdict,
		                          .ops_ns = MS(3100),
		                          .excess_ns = MS(1920),
		                          .steady_ns = MS(2310),
		                          .rows = warming,
		                          .count = sizeof(warming) / sizeof(warming[0]) };
	p->causes = (struct causes){ .ns = { [CAUSE_NONE] = MS(600),
		                             [CAUSE_COMPILER] = MS(1200),
		                             [CAUSE_FAULTS] = MS(200),
		                             [CAUSE_FILES] = MS(10) },
		                     .all_ns = MS(2010),
		                     .samples = verdict == WARMUP_TOO_SHORT ? 12 : 1834 };
	if (verdict == WARMUP_NONE)
		p->warmup = (struct warmup_rows){ .too_few = true, .ops_ns = MS(3100) };
	return p;
}

struct profile *fake_profile_with_findings(void)
{
	struct profile *p = fake_profile();

	p->findings[0] = (struct finding){
		.rule = &fake_rules[0],
		.severity = SEVERITY_WARN,
		.value = 41.2,
		.threshold = 10,
		.share = 0.412,
		.saving_ns = 17 * NS_PER_SEC,
		.function = "work",
		.file = "/src/lock.c",
		.line = 31,
		.fact = "waiting for locks: 41 % of the time of the main thread, most in work "
			"(lock.c:31), which calls pthread_mutex_lock",
		.advice = "Hold the lock for less time.",
	};
	p->findings[1] = (struct finding){
		.rule = &fake_rules[2],
		.severity = SEVERITY_INFO,
		.fact = "the run took 412 ms",
		.advice = "Let it do more work.",
	};
	p->findings[2] = (struct finding){
		.rule = &fake_rules[1],
		.severity = SEVERITY_WARN,
		.saving_ns = NS_PER_SEC,
		.covered = &fake_rules[0],
		.fact = "not shown",
	};
	p->finding_count = 3;
	p->findings_shown = 2;
	return p;
}

// In the order of the query: by what they launched themselves.
static const struct row launchers[] = {
	{ .name = "train_step",
	  .file = "/src/train.cu",
	  .line = 88,
	  .module = "/home/u/bin/train",
	  .self = MS(1204),
	  .total = MS(9304),
	  .self_ns = { [METRIC_ON_CPU] = MS(1204) },
	  .gpu_self_ns = MS(28010),
	  .gpu_total_ns = MS(28010) },
	{ .name = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>"
	          "(int, at::native::CUDAFunctor_add<float>)",
	  .module = "/usr/lib/libtorch_cuda.so",
	  .gpu_self_ns = MS(4001),
	  .gpu_total_ns = MS(4001) },
	{ .name = "[hidden]", .gpu_self_ns = MS(502), .gpu_total_ns = MS(502) },
	{ .name = "rare",
	  .file = "/src/train.cu",
	  .line = 9,
	  .gpu_self_ns = MS(1),
	  .gpu_total_ns = MS(2) },
	{ .name = "main",
	  .file = "/src/train.cu",
	  .line = 120,
	  .module = "/home/u/bin/train",
	  .self = MS(12),
	  .total = MS(41200),
	  .self_ns = { [METRIC_ON_CPU] = MS(12) },
	  .gpu_total_ns = MS(32012) },
};

static const struct row launching_threads[] = {
	{ .name = "loader",
	  .id = 4712,
	  .self = MS(9000),
	  .total = MS(9000),
	  .gpu_self_ns = MS(32000),
	  .gpu_total_ns = MS(32000) },
	{ .name = "train",
	  .id = 4711,
	  .self = MS(41200),
	  .total = MS(41200),
	  .gpu_self_ns = MS(514),
	  .gpu_total_ns = MS(514) },
};

static struct gpu_stream_row streams[] = {
	{ .number = 7,
	  .context = 1,
	  .device_name = "H100",
	  .process = "",
	  .pid = 4711,
	  .works = 12040,
	  .kernels = 12000,
	  .busy_ns = MS(28010),
	  .shared_ns = MS(4040),
	  .span_ns = MS(40000) },
	{ .number = 13,
	  .context = 1,
	  .device = 1,
	  .device_name = "H100",
	  .process = "",
	  .pid = 4712,
	  .works = 12,
	  .busy_ns = MS(4504),
	  .shared_ns = MS(4040),
	  .span_ns = MS(39000) },
};

struct profile *fake_profile_with_gpu(void)
{
	struct profile *p = fake_profile_with_ops();

	p->functions = launchers;
	p->function_count = sizeof(launchers) / sizeof(launchers[0]);
	p->lines = launchers;
	p->line_count = 1;
	p->others = launching_threads;
	p->other_count = sizeof(launching_threads) / sizeof(launching_threads[0]);
	p->gpu_streams = (struct gpu_stream_rows){
		.rows = streams, .count = 2, .devices = 2, .processes = 2
	};
	return p;
}

static struct repeat_row repeated[] = {
	{
		.command = "./pack --level 9 'my input.tar' output.gz",
		.runs = 12,
		.slow_first = true,
		.first = 3.1e8,
		.spread = {
			[REPEAT_WALL] = { .count = 12, .median = 1.2345e8, .q1 = 1.22e8, .q3 = 1.25e8,
			                  .min = 1.21e8, .max = 3.1e8, .mean = 1.4e8, .low = 1.221e8,
			                  .high = 1.249e8, .figures = 3, .outliers = 1 },
			[REPEAT_USER] = { .count = 12, .median = 1.9e8, .mean = 1.9e8 },
			[REPEAT_SYSTEM] = { .count = 12, .median = 1e7, .mean = 1e7 },
			[REPEAT_PEAK_RSS] = { .count = 12, .median = 123 << 20 },
		},
	},
	{
		.command = "./pack --level 1 'my input.tar' output.gz",
		.runs = 12,
		.failed = 2,
		.spread = {
			[REPEAT_WALL] = { .count = 12, .median = 3.21e6, .q1 = 3e6, .q3 = 4e6,
			                  .min = 2.9e6, .max = 9e6, .mean = 3.5e6, .low = 3e6,
			                  .high = 3.9e6, .figures = 2, .outliers = 3 },
			[REPEAT_USER] = { .count = 12, .median = 2e6, .mean = 2e6 },
			[REPEAT_SYSTEM] = { .count = 12, .median = 1e6, .mean = 1e6 },
			[REPEAT_PEAK_RSS] = { .count = 12, .median = 12 << 20 },
		},
	},
};

struct profile *fake_profile_of_ranks(size_t count)
{
	static struct rank_row rows[40];
	static struct rank_skew skew = { "relax<double>(grid&)", "solver", 0, MS(1900), MS(200) };
	struct profile *p = fake_profile();

	for (uint32_t i = 0; i < count && i < 40; i++)
		rows[i] = (struct rank_row){
			.number = i == 0   ? 1
			          : i == 1 ? 0
			                   : i,
			.numbered = true,
			.host = i % 2 ? "node2" : "node1",
			.wall_ns = MS(2600),
			.busy_ns = i ? MS(700) - MS(i) : MS(2400),
			.mpi_ns = i ? MS(1700) + MS(i) : MS(20),
			.wait_ns = MS(150),
			.steps = 12,
			.step_median_ns = i ? MS(100) : MS(200),
			.function = i ? "assemble()" : "relax<double>(grid&)",
		};
	p->ranks = (struct rank_rows){
		.rows = rows,
		.count = count,
		.hosts = 2,
		.median_busy_ns = MS(690),
		.straggles = true,
		.excess_ns = MS(1710),
		.waited_ns = MS(1690),
		.because = &skew,
		.step_ratio = 2,
		.skews = &skew,
		.skew_count = 1,
	};
	return p;
}

struct profile *fake_profile_of_repeats(bool pair)
{
	struct profile *p = fake_profile();

	p->run.wall_ns = MS(2500);
	p->run.machine_cpus = 8;
	p->run.machine_busy_ns = MS(9000);
	p->repeats = (struct repeat_rows){ .rows = repeated, .count = pair ? 2 : 1 };
	p->ratio = (struct spread){ .count = 12, .median = 0.026, .low = 0.024, .high = 0.03 };
	return p;
}
