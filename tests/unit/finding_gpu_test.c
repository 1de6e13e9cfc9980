// SPDX-License-Identifier: MIT
// Rules on GPUs.
#include "tests/unit/gpu_fixture.h"

#include "merge/profile/profile_data.h"
#include "tests/support/expect.h"

#include <string.h>

static const struct query everything;

TestSuite(finding_gpu, .init = begin, .fini = end);

static void set_run(uint64_t wall_ms)
{
	const struct run run = { .start_ns = f.now_ns, .wall_ns = wall_ms * MS, .cpus = 1 };

	cr_assert(eq(int, profile_set_run(f.profile, &run, NULL), 0));
}

// Of 100 ms the GPU has nothing to do for IDLE_MS, while the thread is in decode.
static struct findings *with_idle(uint64_t idle_ms)
{
	uint32_t from = site(1, "main a.c:3 > <cudaLaunchKernel>");
	uint64_t start = f.now_ns, busy_ms = 100 - idle_ms;

	set_run(100);
	device();
	kernel("gemm", 0, busy_ms / 2, 7, from);
	kernel("gemm", busy_ms / 2 + idle_ms, 100, 7, from);
	for (uint64_t ms = 0; ms < 100; ms++) {
		f.now_ns = start + ms * MS;
		add(&f, 1, METRIC_ON_CPU, 1, "main a.c:3 > decode a.c:30");
	}
	profile_end_gpu(f.profile);
	name_all(&f);
	return query_findings(f.profile, &everything, NULL, NULL);
}

Test(finding_gpu, an_idle_gpu_is_a_finding_at_the_line_it_waited_for)
{
	cleanup(findings) struct findings *findings = with_idle(60);
	const struct finding *idle = finding_of(findings, "GPU-IDLE");

	cr_assert(idle != NULL);
	cr_expect(eq(
		str, (char *)idle->fact,
		"the GPU was idle for 60 % of the time, mostly waiting for the main thread in decode "
		"(a.c:30)"));
	cr_expect(eq(int, idle->line, 30));
	cr_expect(eq(int, idle->severity, SEVERITY_WARN));
	cr_expect(eq(u64, idle->saving_ns, 60 * MS));
}

Test(finding_gpu, a_gpu_that_is_mostly_busy_is_none)
{
	cleanup(findings) struct findings *findings = with_idle(20);

	cr_expect(finding_of(findings, "GPU-IDLE") == NULL);
	cr_expect(finding_of(findings, "GPU-LAUNCH") == NULL);
}

Test(finding_gpu, copies_from_pageable_memory_are_a_finding)
{
	set_run(1000);
	device();
	copy(100, 600, 1 << 24);
	profile_end_gpu(f.profile);
	name_all(&f);
	cleanup(findings) struct findings *findings =
		query_findings(f.profile, &everything, NULL, NULL);
	const struct finding *pageable = finding_of(findings, "GPU-PAGEABLE");
	cr_assert(pageable != NULL);
	cr_expect(finding_of(findings, "GPU-MEM") == NULL);
}

Test(finding_gpu, kernels_with_fewer_blocks_than_multiprocessors_are_small)
{
	set_run(1000);
	device();
	kernel("small", 100, 900, 7, 0); // 8 blocks on 4
	profile_end_gpu(f.profile);
	name_all(&f);
	cleanup(findings) struct findings *findings =
		query_findings(f.profile, &everything, NULL, NULL);
	cr_expect(finding_of(findings, "GPU-GRID") == NULL);
	f.profile->gpu.devices[0].multiprocessors = 9;
	cleanup(findings) struct findings *more =
		query_findings(f.profile, &everything, NULL, NULL);
	cr_expect(finding_of(more, "GPU-GRID") != NULL);
}

// Three streams of 8 blocks at a time fill 24 multiprocessors, and not 25.
Test(finding_gpu, small_kernels_beside_each_other_are_counted_together)
{
	set_run(1000);
	device();
	for (uint32_t stream = 7; stream <= 9; stream++)
		kernel("small", 100, 900, stream, 0);
	profile_end_gpu(f.profile);
	name_all(&f);
	f.profile->gpu.devices[0].multiprocessors = 24;
	cleanup(findings) struct findings *findings =
		query_findings(f.profile, &everything, NULL, NULL);
	cr_expect(finding_of(findings, "GPU-GRID") == NULL);
	f.profile->gpu.devices[0].multiprocessors = 25;
	cleanup(findings) struct findings *more =
		query_findings(f.profile, &everything, NULL, NULL);
	const struct finding *small = finding_of(more, "GPU-GRID");
	cr_assert(small != NULL);
	cr_expect(epsilon_eq(dbl, small->value, 100, 0.1));
}

static void begin_anew(void)
{
	end();
	begin();
	set_run(1000);
	device();
}

// All of the run, after what GPUs did.
static struct findings *finish_gpu(void)
{
	profile_end_gpu(f.profile);
	name_all(&f);
	return look(NULL);
}

Test(finding_gpu, without_a_gpu_they_are_not_asked)
{
	add(&f, 1, METRIC_ON_CPU, 1000, "main a.c:3 > work a.c:5");
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	for (size_t i = 0; i < rule_count(); i++)
		if (rule_at(i)->subject == RULES_GPU)
			cr_expect_not(findings->answers[i].asked, "%s", rule_at(i)->id);
}

Test(finding_gpu, a_long_time_in_which_nothing_ran)
{
	for (uint64_t ms = 500; ms <= 510; ms += 10) {
		begin_anew();
		kernel("gemm", 0, 100, 7, 0);
		kernel("gemm", 100 + ms, 900, 7, 0);
		cleanup(findings) struct findings *findings = finish_gpu();
		const struct finding *gap = finding_of(findings, "GPU-GAP");
		cr_expect(eq(int, gap != NULL, ms > 500), "%lu ms", (unsigned long)ms);
		cr_expect(gap == NULL || (gap->value > 0.5 && gap->value < 0.52));
	}
}

// COUNT calls of CUDA's for MS ms in all of a second, beside a kernel that ends at BUSY_MS.
static struct findings *with_calls(const char *name, unsigned count, uint64_t ms, uint64_t busy_ms)
{
	const struct op wanted = {
		.provider = OP_CUDA, .domain = "", .category = "", .name = name
	};
	uint64_t start;

	begin_anew();
	start = f.now_ns;
	kernel("gemm", 0, busy_ms, 7, 0);
	kernel_ns("gemm", 999 * MS, 999 * MS + 1, 7, 0);
	uint32_t op = ops_add(f.ops, &wanted)->id;
	for (unsigned i = 0; i < count; i++) {
		profile_add_op(f.profile, &(struct op_event){ .thread = 1,
		                                              .op = op,
		                                              .begin_ns = f.now_ns,
		                                              .end_ns = f.now_ns + ms * MS / count,
		                                              .self_ns = ms * MS / count });
		f.now_ns += ms * MS / count;
	}
	f.now_ns = start;
	add(&f, 1, METRIC_ON_CPU, 1000, "main a.c:3 > step a.c:30");
	return finish_gpu();
}

Test(finding_gpu, calls_that_stop_the_program)
{
	static const struct {
		const char *id, *call;
		unsigned count;
		uint64_t ms, busy_ms;
		bool fires;
	} table[] = {
		{ "GPU-SYNCCOPY", "cudaMemcpy", 1, 60, 500, true },
		{ "GPU-SYNCCOPY", "cudaMemcpy", 1, 10, 500, false },        // at its threshold
		{ "GPU-SYNCCOPY", "cudaMemcpyAsync", 10, 500, 500, false }, // does not wait
		{ "GPU-SYNCAPI", "cudaStreamSynchronize", 10, 60, 500, true },
		{ "GPU-SYNCAPI", "cudaStreamSynchronize", 10, 10, 500, false },
		{ "GPU-SYNCAPI", "cudaStreamSynchronize", 9, 60, 500, false },   // few
		{ "GPU-SYNCAPI", "cudaStreamSynchronize", 10, 600, 810, false }, // it is busy
		{ "GPU-ALLOC", "cudaMalloc", 10, 60, 500, true },
		{ "GPU-ALLOC", "cudaMalloc", 10, 10, 500, false },
		{ "GPU-ALLOC", "cudaMalloc", 9, 60, 500, false },
		{ "GPU-ALLOC", "cudaFree", 10, 60, 500, true },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		cleanup(findings) struct findings *findings =
			with_calls(table[i].call, table[i].count, table[i].ms, table[i].busy_ms);
		const struct finding *finding = finding_of(findings, table[i].id);
		cr_expect(eq(int, finding != NULL, table[i].fires), "row %zu: %s", i, table[i].id);
		if (!finding)
			continue;
		cr_expect(eq(str, (char *)finding->function, (char *)table[i].call), "row %zu", i);
		cr_expect(eq(u64, finding->saving_ns, table[i].ms * MS), "row %zu", i);
	}
}

// COUNT launches of 5 us, and LONG_COUNT of 20.
static struct findings *with_launches(unsigned count, unsigned long_count)
{
	begin_anew();
	for (unsigned i = 0; i < count + long_count; i++) {
		bool is_short = i < count;
		kernel_ns(is_short ? "add" : "gemm", i * UINT64_C(50000),
		          i * UINT64_C(50000) + (is_short ? 5000 : 20000), 7, 0);
	}
	return finish_gpu();
}

Test(finding_gpu, most_launches_are_of_short_kernels)
{
	static const struct {
		unsigned count, long_count;
		bool fires;
	} table[] = { { 300, 700, false }, { 310, 690, true }, { 999, 0, false } };

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		cleanup(findings) struct findings *findings =
			with_launches(table[i].count, table[i].long_count);
		cr_expect(eq(int, finding_of(findings, "GPU-SHORT") != NULL, table[i].fires),
		          "row %zu", i);
	}
}

Test(finding_gpu, most_of_the_memory_is_taken)
{
	for (uint64_t percent = 90; percent <= 91; percent++) {
		begin_anew();
		kernel("gemm", 0, 100, 7, 0);
		const struct record_gpu_memory record = {
			.head = { .type = RECORD_GPU_MEMORY },
			.memory = GPU_MEMORY_DEVICE,
			.operation = GPU_ALLOCATED,
			.bytes = (UINT64_C(80) << 30) / 100 * percent,
		};
		tell(&record.head, 0, 0);
		cleanup(findings) struct findings *findings = finish_gpu();
		cr_expect(eq(int, finding_of(findings, "GPU-MEM") != NULL, percent > 90), "%lu %%",
		          (unsigned long)percent);
	}
}

// The main thread is in a call of CUDA's that launches, for a millisecond.
static void launch(uint32_t op)
{
	struct frame frames[4];

	cr_assert_eq(frames_of(&f, "main a.c:3 > step a.c:31 > launch@libc", frames), 3);
	memmove(frames + 2, frames + 1, 2 * sizeof(*frames));
	frames[1] = (struct frame){ op, 0, FRAME_OP };
	profile_add_stack(f.profile, &(struct stack){ .thread = 1,
	                                              .metric = METRIC_ON_CPU,
	                                              .time_ns = f.now_ns,
	                                              .weight_ns = MS,
	                                              .samples = 1,
	                                              .count = 4,
	                                              .frames = frames });
}

Test(finding_gpu, launches_that_the_gpu_waits_for)
{
	const struct op call = {
		.provider = OP_CUDA, .domain = "", .category = "", .name = "cudaLaunchKernel"
	};

	for (uint64_t ms = 30; ms <= 60; ms += 30) {
		begin_anew();
		uint32_t op = ops_add(f.ops, &call)->id;
		uint32_t from = site(1, "main a.c:3 > launch@libc");
		uint64_t start = f.now_ns;
		kernel("gemm", 0, 400, 7, from);
		kernel("gemm", 400 + ms, 1000, 7, from);
		for (uint64_t at = 0; at < ms; at++) {
			f.now_ns = start + (400 + at) * MS;
			launch(op);
		}
		f.now_ns = start;
		cleanup(findings) struct findings *findings = finish_gpu();
		cr_expect(eq(int, finding_of(findings, "GPU-LAUNCH") != NULL, ms > 30), "%lu ms",
		          (unsigned long)ms);
	}
}

Test(finding_gpu, matrix_products_without_tensor_cores)
{
	static const struct {
		const char *name;
		uint64_t ms;
		bool fires;
	} table[] = {
		{ "sgemm_128x128", 110, true },
		{ "sgemm_128x128", 100, false },
		{ "sm80_gemm_s16816_tensorop", 900, false },
		{ "relu", 900, false },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		begin_anew();
		kernel(table[i].name, 0, table[i].ms, 7, 0);
		kernel("relu", table[i].ms, 1000, 7, 0);
		cleanup(findings) struct findings *findings = finish_gpu();
		const struct finding *finding = finding_of(findings, "GPU-TC");
		cr_expect(eq(int, finding != NULL, table[i].fires), "row %zu", i);
		cr_expect(finding == NULL || strcmp(finding->function, table[i].name) == 0);
	}
}

// While the GPU works for a second, for a page fault or since the program asked for it.
static struct findings *with_moves(enum gpu_managed_cause cause, uint64_t ms)
{
	const struct record_gpu_managed move = {
		.head = { .type = RECORD_GPU_MANAGED, .size = sizeof(move) },
		.begin_ns = f.now_ns,
		.end_ns = f.now_ns + ms * MS,
		.value = 64 << 20,
		.kind = GPU_MANAGED_TO_DEVICE,
		.cause = cause,
	};

	set_run(1000);
	device();
	kernel("gemm", 0, 1000, 7, site(1, "main a.c:3 > <cudaLaunchKernel>"));
	tell(&move.head, 0, 0);
	profile_end_gpu(f.profile);
	name_all(&f);
	return query_findings(f.profile, &everything, NULL, NULL);
}

Test(finding_gpu, managed_memory_that_moves_by_itself_is_a_finding)
{
	cleanup(findings) struct findings *findings = with_moves(GPU_MANAGED_ACCESS, 400);
	const struct finding *moved = finding_of(findings, "GPU-MANAGED");

	cr_assert(moved != NULL);
	cr_expect(eq(str, (char *)moved->fact,
	             "64 MB of managed memory migrated on page faults, for "
	             "40 % of the GPU's time"));
	cr_expect(eq(int, moved->severity, SEVERITY_ERROR));
	cr_expect(eq(u64, moved->saving_ns, 400 * MS));
}

// How the pages were used while they moved by themselves.
struct use {
	uint32_t kind, cause;
	uint64_t value;
};

static void tell_use(const struct use *use, const char *line)
{
	const struct record_gpu_managed told = {
		.head = { .type = RECORD_GPU_MANAGED, .size = sizeof(told) },
		.begin_ns = f.now_ns,
		.end_ns = f.now_ns + (gpu_managed_moves(use->kind) ? 300 * MS : 0),
		.address = 1 << 30,
		.value = use->value,
		.kind = use->kind,
		.cause = use->cause,
	};
	struct gpu_event event = { .process = 1, .record = &told.head };

	if (use->kind == GPU_MANAGED_HOST_FAULT)
		frames_of(&f, line, &event.code);
	profile_add_gpu(f.profile, &event);
}

Test(finding_gpu, advice_on_managed_memory_follows_who_uses_it_and_how)
{
	static const struct {
		struct use uses[4];
		const char *advice, *fact;
	} table[] = {
		{ { { GPU_MANAGED_TO_DEVICE, GPU_MANAGED_ACCESS, 64 } },
		  "cudaMemPrefetchAsync() before the kernel",
		  "on page faults, for 30 % of the GPU's time" },
		{ { { GPU_MANAGED_HOST_FAULT, GPU_MANAGED_WRITE, 0 },
		    { GPU_MANAGED_TO_HOST, GPU_MANAGED_ACCESS, 64 },
		    { GPU_MANAGED_DEVICE_FAULT, GPU_MANAGED_READ, 1 } },
		  "to the host before fill (a.c:7)",
		  "% of the GPU's time; the host faulted most in fill (a.c:7)" },
		{ { { GPU_MANAGED_HOST_FAULT, GPU_MANAGED_READ, 0 },
		    { GPU_MANAGED_TO_HOST, GPU_MANAGED_ACCESS, 64 },
		    { GPU_MANAGED_DEVICE_FAULT, GPU_MANAGED_READ, 1 },
		    { GPU_MANAGED_THRASHING, 0, 64 } },
		  "cudaMemAdviseSetReadMostly",
		  "time; pages migrated back and forth 1 time; the host faulted most in fill (a.c:7)" },
		{ { { GPU_MANAGED_TO_HOST, GPU_MANAGED_ACCESS, 64 },
		    { GPU_MANAGED_DEVICE_FAULT, GPU_MANAGED_WRITE, 1 },
		    { GPU_MANAGED_THRASHING, 0, 64 } },
		  "separate buffers",
		  "time; pages migrated back and forth 1 time" },
		{ { { GPU_MANAGED_TO_HOST, GPU_MANAGED_EVICTED, 64 },
		    { GPU_MANAGED_THRASHING, 0, 64 } },
		  "does not fit into the GPU's memory",
		  "" },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		begin_anew();
		set_run(1000);
		device();
		kernel("gemm", 0, 1000, 7, site(1, "main a.c:3 > <cudaLaunchKernel>"));
		for (size_t j = 0; j < 4 && table[i].uses[j].kind; j++)
			tell_use(&table[i].uses[j], "fill a.c:7");
		profile_end_gpu(f.profile);
		name_all(&f);
		cleanup(findings) struct findings *findings =
			query_findings(f.profile, &everything, NULL, NULL);
		const struct finding *moved = finding_of(findings, "GPU-MANAGED");
		cr_assert(moved != NULL, "row %zu", i);
		cr_expect(strstr(moved->advice, table[i].advice) != NULL, "row %zu: %s", i,
		          moved->advice);
		cr_expect(strstr(moved->fact, table[i].fact) != NULL, "row %zu: %s", i,
		          moved->fact);
	}
}

Test(finding_gpu, managed_memory_that_was_asked_for_is_none)
{
	cleanup(findings) struct findings *findings = with_moves(GPU_MANAGED_ASKED, 400);

	cr_expect(finding_of(findings, "GPU-MANAGED") == NULL);
}

Test(finding_gpu, managed_memory_that_moves_little_is_none)
{
	cleanup(findings) struct findings *findings = with_moves(GPU_MANAGED_ACCESS, 40);

	cr_expect(finding_of(findings, "GPU-MANAGED") == NULL);
}
