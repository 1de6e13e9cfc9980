// SPDX-License-Identifier: MIT
#include "merge/query/query_gpu.h"

#include "base/error.h"
#include "merge/profile/profile_parts.h"
#include "merge/query/gpu_occupancy.h"
#include "tests/support/expect.h"
#include "tests/unit/gpu_fixture.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char path[64];

static void begin_with_path(void)
{
	begin();
	snprintf(path, sizeof(path), "/tmp/gpu-%d.bneck", (int)getpid());
}

static void end_with_path(void)
{
	unlink(path);
	end();
}

TestSuite(query_gpu, .init = begin_with_path, .fini = end_with_path);

// "name calls total average median (bytes), …" in ms.
static const char *rows_of(const struct profile *p, const struct query *query)
{
	static char text[1024];
	struct error err = { 0 };
	cleanup(gpu_rows) struct gpu_rows *rows = query_gpu(p, query, &err);
	size_t used = 0;

	cr_assert(rows != NULL, "%s", err.text);
	text[0] = '\0';
	for (size_t i = 0; i < rows->count; i++) {
		const struct gpu_row *row = &rows->rows[i];
		used += (size_t)snprintf(
			text + used, sizeof(text) - used, "%s%s %lu %lu %lu (%lu)", i ? ", " : "",
			row->name, (unsigned long)row->calls, (unsigned long)(row->total_ns / MS),
			(unsigned long)(row->average_ns / MS), (unsigned long)row->bytes);
	}
	return text;
}

static const char *facts_of(const struct profile *p, const struct query *query)
{
	static char text[512];
	struct error err = { 0 };
	cleanup(gpu_facts) struct gpu_facts *facts = query_gpu_facts(p, query, &err);

	cr_assert(facts != NULL, "%s", err.text);
	text[0] = '\0';
	for (size_t i = 0; i < facts->device_count; i++) {
		const struct gpu_device_row *d = &facts->devices[i];
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
		         "%s span %lu busy %lu kernels %lu copies %lu overlap %lu hidden %lu "
		         "streams %u",
		         d->name, (unsigned long)(d->span_ns / MS),
		         (unsigned long)(d->busy_ns / MS), (unsigned long)(d->kernel_ns / MS),
		         (unsigned long)(d->copy_ns / MS), (unsigned long)(d->overlap_ns / MS),
		         (unsigned long)(d->copy_hidden_ns / MS), d->streams);
	}
	return text;
}

static const struct query everything;

static void fill(void)
{
	uint32_t forward = site(1, "main a.c:3 > forward a.c:9 > <cudaLaunchKernel>");
	uint32_t step = site(1, "main a.c:3 > step a.c:20 > <cudaLaunchKernel>");

	device();
	kernel("gemm", 0, 10, 7, forward);
	kernel("gemm", 20, 50, 7, forward);
	kernel("relu", 40, 60, 13, step);
	copy(55, 65, 1 << 20);
	profile_end_gpu(f.profile);
}

Test(query_gpu, what_ran_is_ranked_by_its_time)
{
	fill();
	cr_expect(eq(str, (char *)rows_of(f.profile, &everything),
	             "gemm 2 40 20 (0), relu 1 20 20 (0), copy pageable to device 1 10 10 "
	             "(1048576)"));
}

Test(query_gpu, busy_is_the_union_over_streams)
{
	fill();
	cr_expect(eq(str, (char *)facts_of(f.profile, &everything),
	             "H100 span 65 busy 55 kernels 50 copies 10 overlap 15 hidden 5 streams 2"));
}

Test(query_gpu, a_window_has_its_part)
{
	const struct query window = { .from_ns = 20 * MS, .to_ns = 50 * MS };

	fill();
	cr_expect(eq(str, (char *)facts_of(f.profile, &window),
	             "H100 span 30 busy 30 kernels 30 copies 0 overlap 10 hidden 0 streams 2"));
	cr_expect(
		eq(str, (char *)rows_of(f.profile, &window), "gemm 1 30 30 (0), relu 1 10 10 (0)"));
}

static void wait_for_gpu(uint32_t kind, uint64_t begin_ms, uint64_t end_ms)
{
	const struct record_gpu_sync sync = {
		.head = { .type = RECORD_GPU_SYNC, .size = sizeof(sync) },
		.begin_ns = f.now_ns + begin_ms * MS,
		.end_ns = f.now_ns + end_ms * MS,
		.kind = kind,
	};

	tell(&sync.head, 0, 0);
}

Test(query_gpu, a_window_has_its_waits)
{
	const struct query window = { .from_ns = 20 * MS, .to_ns = 50 * MS };
	struct error err = { 0 };

	fill();
	f.now_ns = profile_start_ns(f.profile);
	wait_for_gpu(GPU_SYNC_CONTEXT, 10, 25);
	wait_for_gpu(GPU_SYNC_STREAM, 30, 40);
	wait_for_gpu(GPU_SYNC_EVENT, 45, 55);
	wait_for_gpu(GPU_SYNC_STREAM_WAIT, 30, 40);
	cleanup(gpu_facts) struct gpu_facts *all = query_gpu_facts(f.profile, &everything, &err);
	cleanup(gpu_facts) struct gpu_facts *part = query_gpu_facts(f.profile, &window, &err);
	cr_assert(all && part, "%s", err.text);
	cr_expect(eq(u64, all->sync_count, 3));
	cr_expect(eq(u64, all->sync_ns, 35 * MS));
	cr_expect(eq(u64, all->stream_waits, 1));
	cr_expect(eq(u64, part->sync_count, 2), "those that began in it");
	cr_expect(eq(u64, part->sync_ns, 20 * MS));
}

Test(query_gpu, a_window_has_its_queue)
{
	struct query early = { .to_ns = 100 * MS }, late = { .from_ns = 100 * MS };
	struct error err = { 0 };
	uint64_t start = f.now_ns;

	device();
	uint32_t from = site(1, "main a.c:3 > <cudaLaunchKernel>");
	kernel("gemm", 60, 100, 7, from); // launched at 0
	f.now_ns = start + 120 * MS;
	kernel("gemm", 20, 80, 7, from);
	profile_end_gpu(f.profile);
	name_all(&f);
	early.to_ns += start - profile_start_ns(f.profile);
	late.from_ns += start - profile_start_ns(f.profile);
	cleanup(gpu_facts) struct gpu_facts *all = query_gpu_facts(f.profile, &everything, &err);
	cleanup(gpu_facts) struct gpu_facts *first = query_gpu_facts(f.profile, &early, &err);
	cleanup(gpu_facts) struct gpu_facts *second = query_gpu_facts(f.profile, &late, &err);
	cr_assert(all && first && second, "%s", err.text);
	cr_expect(eq(u64, all->latency_average_ns, 40 * MS));
	cr_expect(eq(u64, first->latency_average_ns, 60 * MS));
	cr_expect(eq(u64, second->latency_average_ns, 20 * MS));
	// Of the GPU's first 40 ms, and of the 100 ms then.
	cr_expect(eq(dbl, first->queue, 1.5));
	cr_expect(eq(dbl, second->queue, 0.2));
}

Test(query_gpu, gpu_time_is_of_who_launched)
{
	const struct query by_gpu = { .of = QUERY_GPU, .sort = SORT_TOTAL };

	fill();
	name_all(&f);
	// The copy is of nobody.
	cr_expect(eq(str, (char *)ask(&f, &by_gpu),
	             "main 0/60, forward 40/40, step 20/20, [hidden] 10/10"));
}

Test(query_gpu, a_file_answers_like_the_profile_it_was_written_from)
{
	struct error err = { 0 };

	fill();
	name_all(&f);
	cr_assert(eq(int, profile_write(f.profile, path, &err), 0), "%s", err.text);
	cleanup(profile) struct profile *read = profile_read(path, &err);
	cr_assert(read != NULL, "%s", err.text);
	char rows[1024], facts[512];
	snprintf(rows, sizeof(rows), "%s", rows_of(f.profile, &everything));
	snprintf(facts, sizeof(facts), "%s", facts_of(f.profile, &everything));
	cr_expect(eq(str, (char *)rows_of(read, &everything), rows));
	cr_expect(eq(str, (char *)facts_of(read, &everything), facts));
}

Test(query_gpu, occupancy_is_what_limits_let_be)
{
	cleanup(gpu_rows) struct gpu_rows *rows = NULL;

	fill();
	rows = query_gpu(f.profile, &everything, NULL);
	// 8 blocks of 8 warps on 4 multiprocessors of 64 warps: 16 of 64.
	cr_expect(eq(dbl, rows->rows[0].occupancy, 0.25));
	cr_expect(eq(int, rows->rows[0].limit, GPU_LIMIT_GRID));
	cr_expect(eq(dbl, rows->rows[0].at_work, 1));
}

Test(query_gpu, multiprocessors_are_at_work_while_there_are_blocks_for_them)
{
	// Of 256 threads each has room for 8 blocks, all for 80.
	const struct gpu_device device = {
		.multiprocessors = 10, .max_warps = 64, .warp_threads = 32, .max_blocks = 32
	};
	static const struct {
		uint32_t blocks, threads;
		double wanted;
	} table[] = {
		{ 1, 256, 0.1 },
		{ 7, 256, 0.7 },
		{ 10, 256, 1 },
		{ 79, 256, 1 },
		{ 80, 256, 1 },
		{ 81, 256, 0.55 }, // two waves: 10 at work, then 1
		{ 8001, 256, 100.1 / 101 },
		{ 0, 256, 0 },
		{ 10, 0, 0 },
		{ 21, 1024, 0.55 },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const struct gpu_shape shape = { .grid = { table[i].blocks, 1, 1 },
			                         .block = { table[i].threads, 1, 1 } };
		double at_work = gpu_at_work(&device, &shape);
		cr_expect(ieee_ulp_eq(dbl, at_work, table[i].wanted, 8), "row %zu: %f", i, at_work);
	}
}

Test(query_gpu, memory_has_a_peak)
{
	struct record_gpu_memory record = { .head = { .type = RECORD_GPU_MEMORY },
		                            .memory = GPU_MEMORY_DEVICE,
		                            .operation = GPU_ALLOCATED,
		                            .bytes = 1000 };

	fill();
	tell(&record.head, 0, 0);
	tell(&record.head, 0, 0);
	record.operation = GPU_RELEASED;
	tell(&record.head, 0, 0);
	record.operation = GPU_ALLOCATED;
	record.memory = GPU_MEMORY_PINNED;
	record.bytes = 1 << 30;
	tell(&record.head, 0, 0);
	cleanup(gpu_facts) struct gpu_facts *facts = query_gpu_facts(f.profile, &everything, NULL);
	cr_expect(eq(u64, facts->devices[0].peak_bytes, 2000));
	cr_expect(eq(u64, facts->allocations, 2));
}

Test(query_gpu, gpus_wait_for_what_the_launching_thread_does)
{
	uint32_t from = site(1, "main a.c:3 > <cudaLaunchKernel>");
	uint64_t start = f.now_ns;

	device();
	kernel("gemm", 0, 10, 7, from);
	kernel("gemm", 50, 60, 7, from);
	// Of 40 ms that it has nothing to do, the thread computes for 10 and waits for 20.
	for (uint64_t ms = 0; ms < 10; ms++) {
		f.now_ns = start + (20 + ms) * MS;
		add(&f, 1, METRIC_ON_CPU, 1, "main a.c:3 > decode a.c:30");
	}
	f.now_ns = start + 30 * MS;
	add(&f, 1, METRIC_OFF_LOCK, 20, "main a.c:3 > pop a.c:40");
	f.now_ns = start + 55 * MS;
	add(&f, 1, METRIC_ON_CPU, 1, "main a.c:3 > decode a.c:30");
	profile_end_gpu(f.profile);
	name_all(&f);
	cleanup(gpu_wait) struct gpu_wait *wait = query_gpu_wait(f.profile, &everything, NULL);
	cr_expect(
		eq(str, (char *)rows_text(wait->functions), "pop 20/20, decode 10/10, main 0/30"));
	cr_expect(eq(u64, wait->idle_ns, 40 * MS));
	cr_expect(eq(u64, wait->functions->rows[0].self_ns[METRIC_OFF_LOCK], 20 * MS));
	cr_expect(eq(u64, wait->call_ns[GPU_CALL_NONE], 30 * MS));
	cr_expect(eq(u64, wait->longest_ns, 40 * MS));
	cr_expect(wait->main_thread);
	cr_expect(eq(u64, wait->threads->rows[0].self, 30 * MS));
}

Test(query_gpu, rows_of_threads_have_gpu_time_beside_their_own)
{
	const struct query by_function = { .sort = SORT_TOTAL };
	struct error err = { 0 };

	fill();
	add(&f, 1, METRIC_ON_CPU, 5, "main a.c:3 > forward a.c:9");
	name_all(&f);
	cleanup(rows) struct rows *rows = query_run(f.profile, &by_function, &err);
	cr_assert(rows != NULL);
	cr_expect(eq(str, (char *)rows->rows[0].name, "forward"));
	cr_expect(eq(u64, rows->rows[0].gpu_self_ns, 40 * MS));
	cr_expect(eq(str, (char *)rows->rows[1].name, "main"));
	cr_expect(eq(u64, rows->rows[1].gpu_total_ns, 60 * MS));
	cr_expect(eq(u64, rows->rows[1].gpu_self_ns, 0));
	cr_expect(eq(u64, rows->all, 5 * MS), "GPU time is not added to that of threads");
}

Test(query_gpu, what_ran_has_the_line_that_launched_most_of_it)
{
	fill();
	name_all(&f);
	cleanup(gpu_rows) struct gpu_rows *rows = query_gpu(f.profile, &everything, NULL);
	cr_expect(eq(str, (char *)rows->rows[0].file, "a.c"));
	cr_expect(eq(int, rows->rows[0].line, 9));
	cr_expect(eq(str, (char *)rows->rows[0].function, "forward"));
	cr_expect(eq(int, rows->rows[1].line, 20));
	cr_expect(rows->rows[2].file == NULL, "nobody is known to have copied");
}

// "name self/total, …" in ms of GPU time.
static const char *launchers(const struct query *query)
{
	static char text[512];
	struct error err = { 0 };
	cleanup(rows) struct rows *rows = query_run(f.profile, query, &err);
	size_t used = 0;

	cr_assert(rows != NULL, "%s", err.text);
	text[0] = '\0';
	for (size_t i = 0; i < rows->count; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %lu/%lu",
		                         i ? ", " : "", rows->rows[i].name,
		                         (unsigned long)(rows->rows[i].gpu_self_ns / MS),
		                         (unsigned long)(rows->rows[i].gpu_total_ns / MS));
	cr_expect(eq(u64, rows->gpu_all_ns, 70 * MS));
	return text;
}

Test(query_gpu, rows_are_ranked_by_what_they_have_launched)
{
	fill();
	add(&f, 1, METRIC_ON_CPU, 5, "main a.c:3 > step a.c:20");
	name_all(&f);
	// By CPU time, forward has none.
	cr_expect(eq(str, (char *)launchers(&(struct query){ .sort = SORT_SELF }),
	             "step 20/20, main 0/60, forward 40/40, [hidden] 10/10"));
	cr_expect(eq(str, (char *)launchers(&(struct query){ .sort = SORT_GPU_SELF }),
	             "forward 40/40, step 20/20, [hidden] 10/10, main 0/60"));
	cr_expect(eq(str, (char *)launchers(&(struct query){ .sort = SORT_GPU_TOTAL }),
	             "main 0/60, forward 40/40, step 20/20, [hidden] 10/10"));
}

// "stream kernels+others busy/shared, …" in ms.
static const char *streams_of(const struct profile *p)
{
	static char text[512];
	struct error err = { 0 };
	cleanup(gpu_stream_rows) struct gpu_stream_rows *rows = query_gpu_streams(p, &err);
	size_t used = 0;

	cr_assert(rows != NULL, "%s", err.text);
	text[0] = '\0';
	for (size_t i = 0; i < rows->count; i++) {
		const struct gpu_stream_row *row = &rows->rows[i];
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%u %lu+%lu %lu/%lu",
		                         i ? ", " : "", row->number, (unsigned long)row->kernels,
		                         (unsigned long)(row->works - row->kernels),
		                         (unsigned long)(row->busy_ns / MS),
		                         (unsigned long)(row->shared_ns / MS));
		cr_expect(eq(u64, row->span_ns, 65 * MS));
	}
	cr_expect(eq(sz, rows->devices, 1));
	cr_expect(eq(sz, rows->processes, 1));
	return text;
}

Test(query_gpu, streams_are_busy_alone_and_beside_others)
{
	struct error err = { 0 };

	fill();
	// The copy of stream 7 shares 5 ms with the kernel of stream 13, whose first 10 ms gemm
	// has.
	cr_expect(eq(str, (char *)streams_of(f.profile), "7 2+1 50/15, 13 1+0 20/15"));
	name_all(&f);
	cr_assert(eq(int, profile_write(f.profile, path, &err), 0), "%s", err.text);
	cleanup(profile) struct profile *read = profile_read(path, &err);
	cr_assert(read != NULL, "%s", err.text);
	cr_expect(eq(str, (char *)streams_of(read), "7 2+1 50/15, 13 1+0 20/15"));
}

Test(query_gpu, where_the_launching_thread_waited_for_a_cpu_is_chance)
{
	uint32_t from = site(1, "main a.c:3 > <cudaLaunchKernel>");
	uint64_t start = f.now_ns;

	device();
	kernel("gemm", 0, 10, 7, from);
	kernel("gemm", 50, 60, 7, from);
	f.now_ns = start + 12 * MS;
	add(&f, 1, METRIC_OFF_RUNNABLE, 30, "main a.c:3 > unlucky a.c:30");
	f.now_ns = start + 45 * MS;
	add(&f, 1, METRIC_ON_CPU, 10, "main a.c:3 > decode a.c:40");
	profile_end_gpu(f.profile);
	name_all(&f);
	cleanup(gpu_wait) struct gpu_wait *wait = query_gpu_wait(f.profile, &everything, NULL);
	cr_expect(eq(str, (char *)rows_text(wait->functions), "decode 10/10, main 0/10"));
	cr_expect(eq(u64, wait->told_ns, 10 * MS));
	cr_expect(eq(u64, wait->runnable_ns, 30 * MS));
	const struct query of_others = { .gpu = 2 };
	cleanup(gpu_wait) struct gpu_wait *none = query_gpu_wait(f.profile, &of_others, NULL);
	cr_expect(eq(u64, none->told_ns + none->runnable_ns + none->idle_ns, 0));
}

Test(query_gpu, where_nothing_has_lines_gpus_wait_for_the_innermost_functions)
{
	uint32_t from = site(1, "main > <cudaLaunchKernel>");
	uint64_t start = f.now_ns;

	device();
	kernel("gemm", 0, 10, 7, from);
	kernel("gemm", 50, 60, 7, from);
	f.now_ns = start + 20 * MS;
	add(&f, 1, METRIC_ON_CPU, 10, "main > decode");
	profile_end_gpu(f.profile);
	name_all(&f);
	cleanup(gpu_wait) struct gpu_wait *wait = query_gpu_wait(f.profile, &everything, NULL);
	cr_expect(eq(str, (char *)rows_text(wait->functions), "decode 10/10, main 0/10"));
}

static void move_pages(uint32_t kind, uint32_t cause, uint32_t device, uint64_t value)
{
	const struct record_gpu_managed move = {
		.head = { .type = RECORD_GPU_MANAGED, .size = sizeof(move) },
		.begin_ns = f.now_ns,
		.end_ns = f.now_ns + (gpu_managed_moves(kind) ? MS : 0),
		.value = value,
		.kind = kind,
		.cause = cause,
		.device = device,
	};

	tell(&move.head, 0, 0);
}

static void expect_managed(const struct profile *p)
{
	struct error err = { 0 };
	cleanup(gpu_managed_rows) struct gpu_managed_rows *rows = query_gpu_managed(p, &err);

	cr_assert(rows != NULL, "%s", err.text);
	cr_assert(eq(sz, rows->count, 3));
	cr_expect(eq(u64, rows->rows[0].count, 2));
	cr_expect(eq(u64, rows->rows[0].bytes, 2000000));
	cr_expect(eq(dbl, rows->rows[0].bytes_per_s, 1e9));
	cr_expect(rows->rows[0].has_device);
	// The instruction is no number of bytes.
	cr_expect(eq(int, rows->rows[1].kind, GPU_MANAGED_HOST_FAULT));
	cr_expect(eq(u64, rows->rows[1].bytes, 0));
	cr_expect(eq(u32, rows->rows[1].cause, GPU_MANAGED_WRITE));
	cr_expect(not(rows->rows[1].has_device));
	cr_expect(eq(u64, rows->rows[2].groups, 5));
	cr_expect(eq(u64, rows->rows[2].bytes, 0));
}

Test(query_gpu, pages_of_managed_memory_are_summed_by_kind_and_cause)
{
	struct error err = { 0 };

	fill();
	move_pages(GPU_MANAGED_TO_DEVICE, GPU_MANAGED_ACCESS, 0, 1500000);
	move_pages(GPU_MANAGED_TO_DEVICE, GPU_MANAGED_ACCESS, 0, 500000);
	move_pages(GPU_MANAGED_HOST_FAULT, GPU_MANAGED_WRITE, GPU_MANAGED_HOST, 0x401234);
	move_pages(GPU_MANAGED_DEVICE_FAULT, 1, 0, 5);
	expect_managed(f.profile);
	name_all(&f);
	cr_assert(eq(int, profile_write(f.profile, path, &err), 0), "%s", err.text);
	cleanup(profile) struct profile *read = profile_read(path, &err);
	cr_assert(read != NULL, "%s", err.text);
	expect_managed(read);
}

// A page fault at an instruction, written as in a stack, and what came for it at the same time.
static void touch(const char *frame, uint64_t address, uint32_t access, uint64_t bytes)
{
	struct record_gpu_managed told = {
		.head = { .type = RECORD_GPU_MANAGED, .size = sizeof(told) },
		.begin_ns = f.now_ns,
		.end_ns = f.now_ns,
		.address = address,
		.kind = GPU_MANAGED_HOST_FAULT,
		.cause = access,
		.device = GPU_MANAGED_HOST,
	};
	struct gpu_event event = { .process = 1, .record = &told.head };

	frames_of(&f, frame, &event.code);
	profile_add_gpu(f.profile, &event);
	event.code = (struct frame){ 0 };
	told.end_ns += MS;
	told.kind = GPU_MANAGED_TO_HOST;
	told.cause = GPU_MANAGED_ACCESS;
	told.device = 0;
	told.value = bytes;
	if (bytes)
		profile_add_gpu(f.profile, &event);
}

// "function file:line < caller file:line faults/writes bytes", …
static const char *faults_of(const struct profile *p)
{
	static char text[1024];
	struct error err = { 0 };
	cleanup(gpu_fault_rows) struct gpu_fault_rows *rows = query_gpu_faults(p, &err);

	cr_assert(rows != NULL, "%s", err.text);
	text[0] = '\0';
	for (size_t i = 0; i < rows->count; i++) {
		const struct gpu_fault_row *row = &rows->rows[i];
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
		         "%s%s %s:%d < %s %s:%d %lu/%lu %lu", i ? ", " : "",
		         row->function ? row->function : "?", row->file ? row->file : "?",
		         row->line, row->caller ? row->caller : "?",
		         row->caller_file ? row->caller_file : "?", row->caller_line,
		         (unsigned long)row->faults, (unsigned long)row->writes,
		         (unsigned long)row->bytes);
	}
	return text;
}

Test(query_gpu, page_faults_of_the_host_are_of_their_lines)
{
	static const char wanted[] = "sum a.c:9 < ? ?:0 2/0 3000, fill a.c:4 < ? ?:0 1/1 500, "
				     "fill a.c:5 < ? ?:0 1/0 0";
	struct error err = { 0 };

	fill();
	touch("sum a.c:9", 4096, GPU_MANAGED_READ, 1000);
	touch("fill a.c:4", 1 << 30, GPU_MANAGED_WRITE, 500);
	f.now_ns += 100 * MS;
	touch("sum a.c:9", 4096, GPU_MANAGED_READ, 2000);
	touch("fill a.c:5", 1 << 30, GPU_MANAGED_READ, 0);
	name_all(&f);
	cr_expect(eq(str, (char *)faults_of(f.profile), (char *)wanted));
	cr_assert(eq(int, profile_write(f.profile, path, &err), 0), "%s", err.text);
	cleanup(profile) struct profile *read = profile_read(path, &err);
	cr_assert(read != NULL, "%s", err.text);
	cr_expect(eq(str, (char *)faults_of(read), (char *)wanted));
}

// Who calls it most, wherever in it the samples are.
Test(query_gpu, faults_in_code_of_others_are_of_who_called_it_by_samples)
{
	fill();
	add(&f, 1, METRIC_ON_CPU, 20, "main a.c:3 > clear a.c:20 > memset@libc");
	add(&f, 1, METRIC_ON_CPU, 30, "main a.c:3 > reset a.c:30 > memset@libc");
	add(&f, 1, METRIC_ON_CPU, 90, "main a.c:3 > copy a.c:40 > memcpy@libc");
	touch("memset@libc", 4096, GPU_MANAGED_WRITE, 1000);
	touch("qsort@libc", 1 << 30, GPU_MANAGED_WRITE, 0);
	name_all(&f);
	cr_expect(eq(str, (char *)faults_of(f.profile),
	             "memset ?:0 < reset a.c:30 1/1 1000, qsort ?:0 < ? ?:0 1/1 0"));
}

Test(query_gpu, what_is_done_where_pages_thrash_is_summed)
{
	struct error err = { 0 };

	fill();
	move_pages(GPU_MANAGED_THRASHING, 0, GPU_MANAGED_HOST, 65536);
	move_pages(GPU_MANAGED_REMOTE_MAP, GPU_MANAGED_MAP_THRASHING, 0, 131072);
	move_pages(GPU_MANAGED_DEVICE_FAULT, GPU_MANAGED_WRITE, 0, 3);
	move_pages(GPU_MANAGED_DEVICE_FAULT, GPU_MANAGED_READ, 0, 4);
	move_pages(GPU_MANAGED_TO_HOST, GPU_MANAGED_EVICTED, 0, 10);
	move_pages(GPU_MANAGED_TO_HOST, GPU_MANAGED_ASKED, 0, 20);
	cleanup(gpu_facts) struct gpu_facts *facts = query_gpu_facts(f.profile, &everything, &err);
	cr_assert(facts != NULL, "%s", err.text);
	cr_expect(eq(u64, facts->managed.thrashing, 1));
	cr_expect(eq(u64, facts->managed.remote_bytes, 131072));
	cr_expect(eq(u64, facts->managed.device_groups, 7));
	cr_expect(eq(u64, facts->managed.device_writes, 3));
	cr_expect(eq(u64, facts->managed.bytes, 10));
	cr_expect(eq(u64, facts->managed.evicted_ns, MS));
	cr_expect(eq(u64, facts->managed.to_host_ns, MS));
}
