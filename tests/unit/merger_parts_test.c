// SPDX-License-Identifier: MIT
// What is merged beside the times of threads: GPUs, single calls, counted instructions.
#include "base/error.h"
#include "merge/gpu/gpu.h"
#include "merge/join/merger.h"
#include "merge/profile/counts.h"
#include "merge/profile/profile_parts.h"
#include "merge/query/query_gpu.h"
#include "merge/query/query_slices.h"
#include "merge/table/slices.h"
#include "tests/support/expect.h"
#include "tests/unit/gpu_fixture.h"

#include <stdio.h>
#include <string.h>

#define START (UINT64_C(1000000) * MS) // of the first, since the epoch

// Rank NUMBER starts 10 ms after the one before. Its GPU runs gemm for 20 + NUMBER ms, 5 ms after
// its start, and copies for 10 ms, 5 of them beside gemm.
static void make_rank(uint32_t number)
{
	static const char *const hosts[] = { "h0", "h1", "h2", "h3" };
	struct run run = {
		.command = "./app",
		.host = hosts[number % 4], // of one host the clock would be the same
		.has_rank = true,
		.rank = number,
		.start_realtime_ns = START + number * 10 * MS,
		.start_ns = 1000 * MS,
		.wall_ns = 100 * MS,
		.complete = true,
	};
	struct error err;

	begin();
	cr_assert(eq(int, profile_set_run(f.profile, &run, &err), 0));
	device();
	uint32_t from = site(1, "main a.c:3 > launch a.c:9 > <cudaLaunchKernel>");
	kernel("gemm", 5, 25 + number, 7, from);
	copy(20, 30, 1000);
	kernel("gemm", 60, 80, 13, from);
	const struct record_gpu_managed move = {
		.head = { .type = RECORD_GPU_MANAGED, .size = sizeof(move) },
		.begin_ns = f.now_ns,
		.end_ns = f.now_ns + MS,
		.value = 1000 + number,
		.kind = GPU_MANAGED_TO_HOST,
		.cause = GPU_MANAGED_EVICTED,
	};
	tell(&move.head, 0, 0);
	struct record_gpu_managed fault = move;
	struct gpu_event touched = { .process = 1, .record = &fault.head };
	fault.kind = GPU_MANAGED_HOST_FAULT;
	fault.end_ns = fault.begin_ns;
	frames_of(&f, "fill a.c:11", &touched.code);
	profile_add_gpu(f.profile, &touched);
	call("step", 30);
	add(&f, 1, METRIC_OFF_LOCK, 15, "main a.c:4 > wait a.c:7");
	profile_end_gpu(f.profile);
	name_all(&f);
}

static struct profile *merge_ranks(uint32_t count, uint32_t timeline)
{
	struct merge_plan plan = { .timeline = timeline };
	struct error err;

	for (uint32_t i = 0; i < count; i++) {
		make_rank(i);
		merge_plan_add(&plan, f.profile);
		end();
	}
	cleanup(merger) struct merger *m = merger_new(&plan, &err);
	cr_assert(ne(ptr, m, NULL));
	for (uint32_t i = 0; i < count; i++) {
		make_rank(i);
		cr_assert(eq(int, merger_add(m, f.profile, &err), 0), "%s", err.text);
		end();
	}
	struct profile *merged = merger_finish(m, &err);
	cr_assert(ne(ptr, merged, NULL));
	return merged;
}

Test(merger_parts, what_gpus_ran_adds_up)
{
	const struct query query = { .by = BY_FUNCTION };
	cleanup(profile) struct profile *merged = merge_ranks(3, 1000);
	struct error err;
	cleanup(gpu_rows) struct gpu_rows *rows = query_gpu(merged, &query, &err);

	cr_assert(ne(ptr, rows, NULL));
	cr_assert(eq(sz, rows->count, 2));
	cr_expect(eq(str, (char *)rows->rows[0].name, "gemm"));
	cr_expect(eq(u64, rows->rows[0].calls, 6));
	cr_expect(eq(u64, rows->rows[0].total_ns, (20 + 21 + 22 + 3 * 20) * MS));
	cr_expect(eq(u64, rows->rows[1].bytes, 3000));
	cr_expect(eq(str, (char *)rows->rows[0].function, "launch"));
}

Test(merger_parts, each_rank_has_its_gpu_and_streams)
{
	const struct query query = { .by = BY_FUNCTION };
	cleanup(profile) struct profile *merged = merge_ranks(3, 1000);
	struct error err;
	cleanup(gpu_facts) struct gpu_facts *facts = query_gpu_facts(merged, &query, &err);
	cleanup(gpu_stream_rows) struct gpu_stream_rows *streams = query_gpu_streams(merged, &err);

	cr_assert(eq(sz, facts->device_count, 3));
	for (uint32_t i = 0; i < 3; i++) {
		cr_expect(eq(u64, facts->devices[i].span_ns, 75 * MS));
		cr_expect(eq(u64, facts->devices[i].busy_ns, 45 * MS));
		cr_expect(eq(u64, facts->devices[i].overlap_ns, (5 + i) * MS));
		cr_expect(eq(u32, facts->devices[i].streams, 2));
	}
	cr_expect(eq(sz, streams->count, 6));
	cr_expect(eq(sz, streams->processes, 3));
	cr_expect(ne(ptr, strstr(profile_run(merged)->notes, "2 GPUs were in use"), NULL));
}

Test(merger_parts, each_rank_has_its_managed_memory)
{
	cleanup(profile) struct profile *merged = merge_ranks(3, 1000);
	struct error err;
	cleanup(gpu_managed_rows) struct gpu_managed_rows *rows = query_gpu_managed(merged, &err);

	cr_assert(eq(sz, rows->count, 6));
	for (size_t i = 0; i < 6; i++) {
		cr_expect(eq(u64, rows->rows[i].count, 1));
		cr_expect(eq(u64, rows->rows[i].ns, i < 3 ? MS : 0)); // faults take none
		cr_expect(ne(str, (char *)rows->rows[i].process, ""));
	}
	cleanup(gpu_fault_rows) struct gpu_fault_rows *faults = query_gpu_faults(merged, &err);
	cr_assert(eq(sz, faults->count, 3));
	for (size_t i = 0; i < 3; i++) {
		cr_expect(eq(u64, faults->rows[i].faults, 1));
		cr_expect(eq(str, (char *)faults->rows[i].function, "fill"));
		cr_expect(eq(int, faults->rows[i].line, 11));
		cr_expect(ne(str, (char *)faults->rows[i].process,
		             (char *)faults->rows[(i + 1) % 3].process));
	}
}

Test(merger_parts, rows_are_shared_where_processes_are)
{
	const struct query query = { .by = BY_FUNCTION };
	cleanup(profile) struct profile *few = merge_ranks(MERGER_APART + 1, 1000);
	cleanup(profile) struct profile *many = merge_ranks(GPU_DEVICES_MAX + 20, 1000);
	struct error err;
	cleanup(gpu_rows) struct gpu_rows *rows = query_gpu(many, &query, &err);

	cr_expect(eq(u32, profile_gpu(few)->works.count, profile_gpu(many)->works.count));
	cr_expect(eq(u32, profile_gpu(many)->device_count, GPU_DEVICES_MAX));
	cr_expect(eq(u64, rows->rows[0].calls, 2 * (GPU_DEVICES_MAX + 20)));
	cr_expect(ne(ptr, strstr(profile_run(many)->notes, "for 20 more"), NULL));
}

// Begin of each, in ms since the start of the run: "op 0-30 wait …".
static const char *timeline_of(const struct profile *p, const char *process)
{
	static char text[1024];
	struct error err;
	const struct slice_query query = { .process = process };
	cleanup(slice_reader) struct slice_reader *reader = slice_reader_new(p, &query, &err);
	struct slice_row row;
	int more;

	text[0] = '\0';
	while ((more = slice_reader_next(reader, &row, &err)) > 0)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s %lu-%lu; ", row.name,
		         (unsigned long)(row.begin_ns / MS), (unsigned long)(row.end_ns / MS));
	cr_expect(eq(int, more, 0));
	return text;
}

Test(merger_parts, single_calls_stand_where_the_clocks_say)
{
	cleanup(profile) struct profile *merged = merge_ranks(3, 1000);

	cr_expect(eq(str, (char *)timeline_of(merged, "app [rank 0]"),
	             "step 0-30; gemm 5-25; locks 30-45; gemm 60-80; "));
	cr_expect(eq(str, (char *)timeline_of(merged, "app [rank 2]"),
	             "step 20-50; gemm 25-47; locks 50-65; gemm 80-100; "));
}

Test(merger_parts, where_there_is_no_room_for_all_each_rank_has_some)
{
	cleanup(profile) struct profile *merged = merge_ranks(3, 6);

	cr_expect(eq(u64, profile_slices(merged)->kept, 6));
	cr_expect(eq(u64, profile_slices(merged)->dropped, 9));
	for (uint32_t i = 0; i < 3; i++) {
		char name[32];
		snprintf(name, sizeof(name), "app [rank %u]", i);
		cr_expect(ne(str, (char *)timeline_of(merged, name), ""), "%s", name);
	}
}

Test(merger_parts, a_merged_profile_is_written_and_read)
{
	const struct query query = { .by = BY_FUNCTION };
	cleanup(profile) struct profile *merged = merge_ranks(3, 1000);
	char path[] = "/tmp/merger-XXXXXX";
	struct error err;

	cr_assert(ge(int, mkstemp(path), 0));
	cr_assert(eq(int, profile_write(merged, path, &err), 0), "%s", err.text);
	cleanup(profile) struct profile *read = profile_read(path, &err);
	cleanup(profile) struct profile *told = profile_read_run(path, &err);
	unlink(path);
	cr_assert(ne(ptr, read, NULL), "%s", err.text);
	cr_expect(eq(u64, profile_slices(told)->kept, profile_slices(merged)->kept));
	cleanup(gpu_rows) struct gpu_rows *rows = query_gpu(read, &query, &err);
	cr_expect(eq(u64, rows->calls, 9));
	cleanup(gpu_wait) struct gpu_wait *wait = query_gpu_wait(read, &query, &err);
	cr_expect(eq(u64, wait->idle_ns, 3 * 30 * MS));
}

// Of two functions: in part NUMBER, other lines of the first, and other texts before them.
static void count(uint32_t number)
{
	struct counts *c = profile_writable_counts(f.profile);
	struct strings *texts = profile_writable_strings(f.profile);
	uint32_t file = strings_add(texts, "a.c");

	for (uint32_t i = 0; i < number; i++)
		strings_add(texts, i % 2 ? "one more" : "some other");
	uint32_t work = counts_function(c, strings_add(texts, "work"), file, 0);
	uint32_t start = counts_function(c, strings_add(texts, "main"), file, 0);
	counts_add(c, work, file, 10, 100);
	counts_add(c, work, file, 11 + number, 7);
	counts_add(c, start, file, 3, 5);
	c->functions[work - 1].calls = 2;
	c->functions[start - 1].callees = 107;
	c->processes = 1;
}

Test(merger_parts, counted_instructions_add_up)
{
	struct merge_plan plan = { 0 };
	struct error err;
	cleanup(merger) struct merger *m = NULL;

	for (uint32_t i = 0; i < 6; i++) {
		begin();
		count(i % 3);
		if (!m && i == 3)
			m = merger_new(&plan, &err);
		if (i < 3)
			merge_plan_add(&plan, f.profile);
		else
			cr_assert(eq(int, merger_add(m, f.profile, &err), 0), "%s", err.text);
		end();
	}
	cleanup(profile) struct profile *merged = merger_finish(m, &err);
	const struct counts *all = profile_writable_counts(merged);
	cr_assert(eq(u32, all->function_count, 2));
	cr_expect(eq(str, (char *)profile_string(merged, all->functions[0].name), "work"));
	cr_expect(eq(u64, all->functions[0].self, 321));
	cr_expect(eq(u64, all->functions[0].calls, 6));
	cr_expect(eq(u64, all->functions[1].callees, 321));
	cr_expect(eq(u64, all->all, 336));
	cr_expect(eq(u32, all->processes, 3));
	cr_assert(eq(u32, all->line_count, 5)); // 10, 11, 12, 13 of work, and 3
	cr_expect(eq(u64, all->lines[0].self, 300));
}
