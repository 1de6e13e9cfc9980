// SPDX-License-Identifier: MIT
/*
 * What else a run can be: slow at first, in steps, with findings, on GPUs, of ranks, repeated.
 */
#include "tests/unit/fake_profile.h"

#include "tests/unit/fake_units.h"

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
	{ { .name = "read", .via = "fill", .metric = METRIC_OFF_FILE, .excess_ns = MS(40) } },
	{ { .excess_ns = 0 } },
	{ { .excess_ns = 0 } },
	{ { .excess_ns = 0 } },
};

// The last ones are an average.
static const struct step_parts step_parts[] = {
	{ true,
	  { [STEP_KERNELS] = MS(100),
	    [STEP_COPIES] = MS(10),
	    [STEP_OPS] = MS(150),
	    [STEP_IDLE] = MS(20),
	    [STEP_OTHER] = MS(30) } },
	{ true, { [STEP_LOADER] = MS(40), [STEP_OPS] = MS(20), [STEP_OTHER] = MS(5) } },
	{ true, { [STEP_KERNELS] = MS(8), [STEP_OPS] = MS(2), [STEP_OTHER] = MS(2) } },
	{ true, { [STEP_KERNELS] = MS(8), [STEP_OPS] = MS(2), [STEP_OTHER] = MS(1) } },
	{ false, { 0 } },
};

struct profile *fake_profile_with_steps(void)
{
	struct profile *p = fake_profile();

	p->startup = (struct startup){ .ns = MS(700), .causes = { [CAUSE_IMPORTS] = MS(650) } };
	p->excesses = excesses[0];
	p->step_parts = step_parts;
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
		.rule = rule_at(0),
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
		.rule = rule_at(2),
		.severity = SEVERITY_INFO,
		.fact = "the run took 412 ms",
		.advice = "Let it do more work.",
	};
	p->findings[2] = (struct finding){
		.rule = rule_at(1),
		.severity = SEVERITY_WARN,
		.saving_ns = NS_PER_SEC,
		.covered = rule_at(0),
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
