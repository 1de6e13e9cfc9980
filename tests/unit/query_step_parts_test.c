// SPDX-License-Identifier: MIT
#include "merge/query/query_step_parts.h"

#include "base/error.h"
#include "tests/support/expect.h"
#include "tests/unit/merge_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct fixture f;

static void begin(void)
{
	fixture_init(&f, NULL);
}

static void end(void)
{
	fixture_fini(&f);
}

TestSuite(query_step_parts, .init = begin, .fini = end);

// All times are ms from now_ns on, where the step begins.
static uint64_t at(uint64_t ms)
{
	return f.now_ns + ms * MS;
}

static void op_on(uint32_t thread, enum op_provider provider, const char *name, uint64_t from,
                  uint64_t to)
{
	const struct op *op = ops_add(
		f.ops,
		&(struct op){ .provider = provider, .domain = "", .category = "", .name = name });

	profile_add_op(f.profile, &(struct op_event){ .thread = thread,
	                                              .op = op->id,
	                                              .begin_ns = at(from),
	                                              .end_ns = at(to),
	                                              .self_ns = (to - from) * MS });
}

static void call(enum op_provider provider, const char *name, uint64_t from, uint64_t to)
{
	op_on(1, provider, name, from, to);
}

static void wait(uint64_t from, uint64_t to)
{
	f.now_ns += from * MS;
	add(&f, 1, METRIC_OFF_SLEEP, to - from, "main a.c:3 > nanosleep@libc");
	f.now_ns -= from * MS;
}

static void kernel(uint32_t process, const char *name, uint64_t from, uint64_t to)
{
	const struct record_gpu_kernel record = {
		.head = { .type = RECORD_GPU_KERNEL, .time_ns = at(to) },
		.begin_ns = at(from),
		.end_ns = at(to),
		.place = { 5, 0, 1, 7 },
		.grid = { 8, 1, 1 },
		.block = { 256, 1, 1 },
	};
	const struct op wanted = { .provider = OP_GPU, .domain = "", .category = "", .name = name };
	const struct gpu_event event = { .process = process,
		                         .op = ops_add(f.ops, &wanted)->id,
		                         .record = &record.head };

	profile_add_gpu(f.profile, &event);
}

static void copy(uint64_t from, uint64_t to)
{
	const struct record_gpu_copy record = {
		.head = { .type = RECORD_GPU_COPY, .time_ns = at(to) },
		.begin_ns = at(from),
		.end_ns = at(to),
		.place = { 6, 0, 1, 8 },
		.bytes = 4096,
	};

	profile_add_gpu(f.profile, &(struct gpu_event){ .process = 1, .record = &record.head });
}

// "kernels copies communication loader ops idle other" in ms, a step each.
static const char *parts_text(void)
{
	static char text[1024];
	const struct run run = { .start_ns = 1000 * MS, .wall_ns = f.now_ns - 1000 * MS };
	const struct steps_query query = { 0 };
	struct error err = { 0 };
	size_t used = 0;

	cr_assert(profile_set_run(f.profile, &run, NULL) == 0);
	cleanup(steps) struct steps *s = query_steps(f.profile, &query, &err);
	cr_assert(s != NULL, "%s", err.text);
	struct step_parts *parts = query_step_parts(f.profile, s, &err);
	cr_assert(parts != NULL, "%s", err.text);
	text[0] = '\0';
	for (size_t i = 0; i < s->count; i++) {
		uint64_t sum = 0;
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", i ? ", " : "",
		                         parts[i].known ? "" : "unknown");
		for (int part = 0; part < STEP_PARTS && parts[i].known; part++) {
			sum += parts[i].ns[part];
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%lu",
			                         part ? " " : "",
			                         (unsigned long)(parts[i].ns[part] / MS));
		}
		if (parts[i].known)
			cr_expect(eq(u64, sum, s->steps[i].end_ns - s->steps[i].begin_ns),
			          "the parts of step %zu sum to its length", i + 1);
	}
	free(parts);
	return text;
}

static void next_step(void)
{
	op_on(1, OP_NVTX, "step", 0, 100);
	f.now_ns += 100 * MS;
}

Test(query_step_parts, each_moment_is_one_part)
{
	call(OP_TORCH, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0, 20);
	call(OP_TORCH, "aten::stack", 5, 15); // the loader's own
	next_step();
	call(OP_TORCH, "aten::conv2d", 10, 60);
	call(OP_TORCH, "aten::convolution", 15, 55);
	wait(50, 75); // partly of the op
	next_step();
	op_on(1, OP_TORCH, "forward", 0, 90); // a label is no work
	kernel(1, "gemm", 30, 60);
	kernel(1, "gemm", 50, 70); // of two streams at a time
	copy(60, 80);
	wait(20, 90);
	next_step();
	kernel(1, "ncclDevKernel_AllReduce_Sum_f32", 20, 50);
	kernel(1, "gemm", 40, 45);
	call(OP_MPI, "MPI_Barrier", 60, 70);
	call(OP_TORCH, "c10d::allreduce_", 70, 75);
	call(OP_PYTHON, "gc gen2", 80, 90); // the interpreter's
	next_step();
	next_step();
	cr_expect(eq(str, (char *)parts_text(),
	             "0 0 0 20 0 0 80, 0 0 0 0 50 15 35, "
	             "40 10 0 0 0 20 30, 5 0 40 0 0 0 55, "
	             "0 0 0 0 0 0 100"));
}

// Threads beside it, and GPUs of other processes, do not make the step longer.
Test(query_step_parts, of_the_steps_own_thread_and_process)
{
	add_thread(&f, 2, 1, 101, "worker");
	add_process(&f, 2, 200, "other");
	for (int i = 0; i < 5; i++) {
		op_on(2, OP_BLAS, "cblas_dgemm", 10, 50);
		kernel(2, "gemm", 20, 80);
		next_step();
	}
	cr_expect(eq(str, (char *)parts_text(),
	             "0 0 0 0 0 0 100, 0 0 0 0 0 0 100, 0 0 0 0 0 0 100, 0 0 0 0 0 0 100, "
	             "0 0 0 0 0 0 100"));
}

Test(query_step_parts, unknown_beyond_what_was_kept)
{
	profile_set_timeline(f.profile, 6);
	for (int i = 0; i < 6; i++) {
		call(OP_BLAS, "cblas_dgemm", 10, 50);
		next_step();
	}
	cr_expect(eq(str, (char *)parts_text(),
	             "0 0 0 0 40 0 60, 0 0 0 0 40 0 60, "
	             "0 0 0 0 40 0 60, unknown, unknown, unknown"));
}
