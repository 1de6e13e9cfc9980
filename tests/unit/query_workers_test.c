// SPDX-License-Identifier: MIT
#include "merge/query/query_workers.h"

#include "base/error.h"
#include "tests/unit/merge_fixture.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>

static struct fixture f;

// Thread 1 of process 1; threads 2 and 3 of process 2.
static void begin(void)
{
	fixture_init(&f, NULL);
	add_process(&f, 2, 200, "worker");
	add_thread(&f, 2, 2, 200, "worker");
	add_thread(&f, 3, 2, 201, "gloo");
}

static void end(void)
{
	fixture_fini(&f);
}

TestSuite(query_workers, .init = begin, .fini = end);

// Ms from the start on.
static void call(uint32_t thread, enum op_provider provider, const char *name, uint64_t from,
                 uint64_t to)
{
	const struct op *op = ops_add(
		f.ops,
		&(struct op){ .provider = provider, .domain = "", .category = "", .name = name });

	profile_add_op(f.profile, &(struct op_event){ .thread = thread,
	                                              .op = op->id,
	                                              .begin_ns = f.now_ns + from * MS,
	                                              .end_ns = f.now_ns + to * MS,
	                                              .self_ns = (to - from) * MS });
}

static void kernel(const char *name, uint64_t from, uint64_t to)
{
	const struct record_gpu_kernel record = {
		.head = { .type = RECORD_GPU_KERNEL, .time_ns = f.now_ns + to * MS },
		.begin_ns = f.now_ns + from * MS,
		.end_ns = f.now_ns + to * MS,
		.place = { 5, 0, 1, 7 },
		.grid = { 8, 1, 1 },
		.block = { 256, 1, 1 },
	};
	const struct op wanted = { .provider = OP_GPU, .domain = "", .category = "", .name = name };

	profile_add_gpu(f.profile, &(struct gpu_event){ .process = 2,
	                                                .op = ops_add(f.ops, &wanted)->id,
	                                                .record = &record.head });
}

// "process computing+both+communicating+other of lifetime, …" in ms, of FROM to TO.
static const char *workers(uint64_t from, uint64_t to)
{
	static char text[256];
	const struct run run = { .start_ns = f.now_ns, .wall_ns = 1000 * MS };
	struct error err;
	size_t used = 0;

	profile_end_gpu(f.profile);
	cr_assert(eq(int, profile_set_run(f.profile, &run, &err), 0));
	cleanup(workers) struct workers *w = query_workers(f.profile, from * MS, to * MS, &err);
	cr_assert_not_null(w);
	text[0] = '\0';
	for (size_t i = 0; i < w->count; i++) {
		const struct worker_row *r = &w->rows[i];
		used += (size_t)snprintf(text + used, sizeof(text) - used,
		                         "%s%s %llu+%llu+%llu+%llu of %llu", i ? ", " : "",
		                         r->process, (unsigned long long)(r->computing_ns / MS),
		                         (unsigned long long)(r->overlapping_ns / MS),
		                         (unsigned long long)(r->communicating_ns / MS),
		                         (unsigned long long)(r->other_ns / MS),
		                         (unsigned long long)(r->lifetime_ns / MS));
	}
	return text;
}

Test(query_workers, one_process_that_communicates_has_nobody_to_do_so_with)
{
	call(1, OP_MPI, "MPI_Send", 0, 100);
	call(2, OP_TORCH, "aten::mm", 0, 100);
	cr_expect_str_eq(workers(0, 0), "");
}

Test(query_workers, within_an_op_a_thread_communicates_and_beside_others_it_overlaps)
{
	call(1, OP_MPI, "MPI_Allreduce", 100, 200);
	call(1, OP_TORCH, "aten::mm", 0, 300); // around it
	call(2, OP_TORCH, "aten::mm", 0, 400);
	call(3, OP_TORCH, "gloo:all_reduce", 300, 700);
	call(2, OP_TORCH, "DistributedDataParallel.forward", 0, 900); // a label
	cr_expect_str_eq(workers(0, 0), "worker 300+100+300+300 of 1000, "
	                                "app 200+0+100+700 of 1000");
}

Test(query_workers, a_window_cuts_calls)
{
	call(1, OP_MPI, "MPI_Allreduce", 100, 200);
	call(3, OP_TORCH, "c10d::allreduce_", 300, 700);
	call(2, OP_BLAS, "sgemm", 350, 400);
	cr_expect_str_eq(workers(150, 500), "worker 0+50+150+150 of 350, app 0+0+50+300 of 350");
}

Test(query_workers, with_a_gpu_it_computes_while_kernels_run_there)
{
	call(1, OP_MPI, "MPI_Allreduce", 100, 200);
	call(2, OP_TORCH, "aten::mm", 0, 10); // launches
	call(2, OP_TORCH, "c10d::allreduce_", 10, 20);
	kernel("gemm", 50, 250);
	kernel("ncclDevKernel_AllReduce", 200, 600);
	cr_expect_str_eq(workers(0, 0), "worker 150+50+360+440 of 1000, app 0+0+100+900 of 1000");
}
