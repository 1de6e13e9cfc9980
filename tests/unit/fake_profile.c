// SPDX-License-Identifier: MIT
#include "tests/unit/fake_profile.h"

#include "symbolize/symbolizer.h"
#include "tests/unit/fake_units.h"

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
	{ .name = "read.c:26", // no text, and no line of the user's: by line alone
	  .file = "../sysdeps/unix/sysv/linux/read.c",
	  .line = 26,
	  .module = "/usr/lib/libc.so.6",
	  ON_CPU(500, 500) },
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
	  .self_allocated_bytes = MB(899),
	  .net_bytes = MB(300),
	  .self_net_bytes = -(int64_t)MB(2) },
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
