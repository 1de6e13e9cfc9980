// SPDX-License-Identifier: MIT
#include "merge/query/query_ops.h"

#include "base/error.h"
#include "base/record.h"
#include "merge/profile/profile_data.h"
#include "tests/support/expect.h"
#include "tests/unit/merge_fixture.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct fixture f;
static char path[64];

static void begin(void)
{
	fixture_init(&f, NULL);
	snprintf(path, sizeof(path), "/tmp/query-ops-%d.bneck", (int)getpid());
}

static void end(void)
{
	fixture_fini(&f);
	unlink(path);
}

TestSuite(query_ops, .init = begin, .fini = end);

// One call of thread 1 from "step a.c:5" at FROM_MS after now, TOTAL_MS long.
static struct op_event call_of(const char *name, uint64_t from_ms, uint64_t total_ms,
                               uint64_t self_ms)
{
	struct op_event event = {
		.thread = 1,
		.op = op_called(&f, name),
		.begin_ns = f.now_ns + from_ms * MS,
		.end_ns = f.now_ns + (from_ms + total_ms) * MS,
		.self_ns = self_ms * MS,
	};
	struct frame frames[2];

	frames_of(&f, "step a.c:5 > hook", frames);
	event.caller = frames[1];
	return event;
}

static void call(const char *name, uint64_t from_ms, uint64_t total_ms, uint64_t self_ms)
{
	struct op_event event = call_of(name, from_ms, total_ms, self_ms);

	profile_add_op(f.profile, &event);
}

static struct op_rows *ask_ops_of(const struct profile *profile, const struct op_query *query)
{
	struct error err = { 0 };
	struct op_rows *rows = query_ops(profile, query, &err);

	cr_assert(rows != NULL, "%s", err.text);
	return rows;
}

static struct op_rows *ask_ops(const struct op_query *query)
{
	return ask_ops_of(f.profile, query);
}

// "name calls self/total, …" in ms.
static const char *text_of(const struct op_rows *rows)
{
	static char text[4096];
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < rows->count; i++) {
		const struct op_row *row = &rows->rows[i];
		used += (size_t)snprintf(
			text + used, sizeof(text) - used, "%s%s%s%s %lu %lu/%lu", i ? ", " : "",
			row->name, row->shape, row->stack, (unsigned long)row->calls,
			(unsigned long)(row->self_ns / MS), (unsigned long)(row->total_ns / MS));
	}
	return text;
}

static void expect(int line, const struct op_query *query, const char *text)
{
	cleanup(op_rows) struct op_rows *rows = ask_ops(query);

	cr_expect(eq(str, (char *)text_of(rows), (char *)text), "line %d", line);
}

#define EXPECT(...) expect(__LINE__, __VA_ARGS__)

Test(query_ops, calls_self_and_total_are_sums_of_intervals)
{
	call("gemm", 1, 30, 30);
	call("gemm", 40, 20, 20);
	call("forward", 0, 100, 45);
	EXPECT(&(struct op_query){ 0 }, "gemm 2 50/50, forward 1 45/100");
	EXPECT(&(struct op_query){ .sort = OPS_SORT_TOTAL }, "forward 1 45/100, gemm 2 50/50");
	EXPECT(&(struct op_query){ .sort = OPS_SORT_CALLS }, "gemm 2 50/50, forward 1 45/100");
	EXPECT(&(struct op_query){ .sort = OPS_SORT_AVERAGE }, "forward 1 45/100, gemm 2 50/50");
}

// A call of PROVIDER's op NAME, within the op PARENT; 0: within none.
static uint32_t call_within(enum op_provider provider, const char *name, uint32_t parent,
                            uint64_t total_ms, uint64_t self_ms)
{
	struct op wanted = { .provider = provider, .domain = "", .category = "", .name = name };
	struct op_event event = call_of("unused", 0, total_ms, self_ms);

	event.op = ops_add(f.ops, &wanted)->id;
	event.parent = parent;
	profile_add_op(f.profile, &event);
	return event.op;
}

static uint32_t op_of(enum op_provider provider, const char *name)
{
	struct op wanted = { .provider = provider, .domain = "", .category = "", .name = name };

	return ops_add(f.ops, &wanted)->id;
}

// addmm > sgemm > kernel, and linear > sgemm: to PyTorch's profiler all of that is its ops' own
// time. What is within no op of PyTorch's is nobody's.
Test(query_ops, as_another_profiler_has_it_the_time_of_libraries_is_that_of_the_ops_around_them)
{
	uint32_t addmm = op_of(OP_TORCH, "addmm"), linear = op_of(OP_TORCH, "linear");
	uint32_t sgemm = op_of(OP_BLAS, "sgemm");

	call_within(OP_ITT, "kernel", sgemm, 20, 20);
	call_within(OP_BLAS, "sgemm", addmm, 60, 40);
	call_within(OP_BLAS, "sgemm", linear, 20, 20);
	call_within(OP_BLAS, "sgemm", 0, 7, 7);
	call_within(OP_TORCH, "addmm", linear, 100, 40);
	call_within(OP_TORCH, "linear", 0, 150, 30);
	EXPECT(&(struct op_query){ .sort = OPS_SORT_TOTAL },
	       "linear 1 30/150, addmm 1 40/100, sgemm 3 67/87, kernel 1 20/20");
	const struct op_query as = { .as = OP_TORCH };
	cleanup(op_rows) struct op_rows *rows = ask_ops(&as);
	cr_assert(eq(sz, rows->count, 2));
	// The kernel's 20 ms were in one of three calls of sgemm: theirs by what each took.
	const struct op_row *most = &rows->rows[0], *other = &rows->rows[1];
	cr_expect(eq(str, (char *)most->name, "addmm"));
	cr_expect(epsilon_eq(dbl, (double)most->self_ns, (40 + 40 + 20 * 60 / 87.0) * MS, 1e3));
	cr_expect(epsilon_eq(dbl, (double)most->others_ns, (40 + 20 * 60 / 87.0) * MS, 1e3));
	cr_expect(eq(u64, most->total_ns, 100 * MS));
	cr_expect(epsilon_eq(dbl, (double)other->self_ns, (30 + 20 + 20 * 20 / 87.0) * MS, 1e3));
}

Test(query_ops, shares_may_be_of_the_time_in_a_label)
{
	call("gemm", 1, 30, 30);
	call("MASK INDICES", 40, 20, 20);
	call("MASK INDICES", 60, 20, 20);
	cleanup(op_rows) struct op_rows *rows = ask_ops(&(struct op_query){ .of = "MASK*" });
	cr_expect(eq(u64, rows->wall_ns, 40 * MS));
	// In a part of the run without the label nothing has a share of it, but that is no mistake.
	cleanup(op_rows) struct op_rows *before =
		ask_ops(&(struct op_query){ .of = "MASK*", .to_ns = 30 * MS });
	cr_expect(eq(u64, before->wall_ns, 0));
	cr_expect(eq(sz, before->count, 1));
	struct error err = { 0 };
	cr_expect(eq(ptr, query_ops(f.profile, &(struct op_query){ .of = "none" }, &err), NULL));
	cr_expect(strstr(err.text, "\"none\"") != NULL, "%s", err.text);
}

// outer holds inner three times, which holds leaf twice; one inner is within none.
Test(query_ops, ops_within_a_call_are_counted_at_any_depth)
{
	uint32_t outer = call_within(OP_NVTX, "outer", 0, 100, 40);
	uint32_t inner = op_of(OP_NVTX, "inner");
	struct error err;

	for (int i = 0; i < 3; i++)
		call_within(OP_NVTX, "inner", outer, 20, 10);
	call_within(OP_NVTX, "inner", 0, 20, 10);
	for (int i = 0; i < 8; i++)
		call_within(OP_NVTX, "leaf", inner, 5, 5);
	const struct op_row rows[] = {
		{ .name = "outer", .provider = "nvtx", .domain = "" },
		{ .name = "inner", .provider = "nvtx", .domain = "" },
		{ .name = "leaf", .provider = "nvtx", .domain = "" },
		{ .name = "outer", .provider = "api", .domain = "" },
	};
	cr_expect(epsilon_eq(dbl, query_ops_within(f.profile, &rows[0], &err), 9, 1e-9));
	cr_expect(epsilon_eq(dbl, query_ops_within(f.profile, &rows[1], &err), 2, 1e-9));
	cr_expect(epsilon_eq(dbl, query_ops_within(f.profile, &rows[2], &err), 0, 1e-9));
	cr_expect(epsilon_eq(dbl, query_ops_within(f.profile, &rows[3], &err), 0, 1e-9));
}

Test(query_ops, an_op_within_itself_counts_once_in_its_total)
{
	struct op_event inner = call_of("solve", 10, 40, 40);

	inner.within_itself = true;
	inner.parent = inner.op;
	profile_add_op(f.profile, &inner);
	call("solve", 0, 100, 60);
	EXPECT(&(struct op_query){ 0 }, "solve 2 100/100");
	cleanup(op_rows) struct op_rows *rows = ask_ops(&(struct op_query){ 0 });
	cr_expect(eq(u64, rows->rows[0].average_ns, 70 * MS));
	cr_expect(eq(u64, rows->rows[0].max_ns, 100 * MS));
}

Test(query_ops, durations_are_those_of_all_calls)
{
	for (uint64_t i = 0; i < 101; i++)
		call("op", (i + 50) % 101 * 200, 10 + i, 1);
	cleanup(op_rows) struct op_rows *rows = ask_ops(&(struct op_query){ 0 });
	const struct op_row *row = &rows->rows[0];

	cr_expect(eq(u64, row->calls, 101));
	cr_expect(eq(u64, row->min_ns, 10 * MS));
	cr_expect(eq(u64, row->max_ns, 110 * MS));
	cr_expect(epsilon_eq(dbl, (double)row->median_ns, 60.0 * MS, 0.6 * MS));
	cr_expect(epsilon_eq(dbl, (double)row->q1_ns, 35.0 * MS, 0.35 * MS));
	cr_expect(epsilon_eq(dbl, (double)row->q3_ns, 85.0 * MS, 0.85 * MS));
	cr_expect(eq(u64, row->first_ns, (10 + 51) * MS), "the 51st began first");
}

Test(query_ops, shapes_are_rows_of_their_own_if_asked_for)
{
	const uint64_t shapes[][3] = { { 256, 128, 300 }, { 8, 8, 8 }, { 256, 128, 300 } };

	for (size_t i = 0; i < 3; i++) {
		struct op_event event = call_of("gemm", i * 10, 2, 2);
		event.detail = OP_DETAIL_SHAPE;
		event.detail_count = 3;
		event.details = shapes[i];
		profile_add_op(f.profile, &event);
	}
	EXPECT(&(struct op_query){ .by = OPS_BY_SHAPE },
	       "gemm[256, 128, 300] 2 4/4, gemm[8, 8, 8] 1 2/2");
	EXPECT(&(struct op_query){ 0 }, "gemm 3 6/6");
}

Test(query_ops, a_payload_is_told_as_what_it_is)
{
	double third = 3.5;
	uint64_t bits;
	memcpy(&bits, &third, sizeof(bits));
	const struct {
		enum op_detail detail;
		uint64_t value;
		const char *text;
	} payloads[] = {
		{ OP_DETAIL_UNSIGNED, 17,
		  "op"
		  "payload 17 1 1/1" },
		{ OP_DETAIL_SIGNED, (uint64_t)-4,
		  "op"
		  "payload -4 1 1/1" },
		{ OP_DETAIL_DOUBLE, bits,
		  "op"
		  "payload 3.5 1 1/1" },
	};

	for (size_t i = 0; i < 3; i++) {
		end();
		begin();
		struct op_event event = call_of("op", 0, 1, 1);
		event.detail = payloads[i].detail;
		event.detail_count = 1;
		event.details = &payloads[i].value;
		profile_add_op(f.profile, &event);
		EXPECT(&(struct op_query){ .by = OPS_BY_SHAPE }, payloads[i].text);
	}
}

Test(query_ops, flops_come_from_names_and_shapes)
{
	const uint64_t shape[3] = { 100, 200, 300 };
	struct op wanted = { .provider = OP_BLAS, .domain = "", .category = "", .name = "dgemm" };
	struct op_event event = call_of("x", 0, 10, 10);

	event.op = ops_add(f.ops, &wanted)->id;
	event.detail = OP_DETAIL_SHAPE;
	event.detail_count = 3;
	event.details = shape;
	profile_add_op(f.profile, &event);
	profile_add_op(f.profile, &event);
	cleanup(op_rows) struct op_rows *rows = ask_ops(&(struct op_query){ 0 });
	cr_expect(eq(u64, rows->rows[0].flops, UINT64_C(2) * 2 * 100 * 200 * 300));
	cr_expect(eq(str, (char *)rows->rows[0].provider, "blas"));
}

Test(query_ops, a_number_that_always_differs_fills_no_table)
{
	for (uint64_t i = 0; i < 3 * OP_SHAPES_OF_OP; i++) {
		struct op_event event = call_of("step", i, 1, 1);
		event.detail = OP_DETAIL_UNSIGNED;
		event.detail_count = 1;
		event.details = &i;
		profile_add_op(f.profile, &event);
	}
	cleanup(op_rows) struct op_rows *rows = ask_ops(&(struct op_query){ .by = OPS_BY_SHAPE });
	cr_expect(eq(sz, rows->count, OP_SHAPES_OF_OP + 1));
	cr_expect(eq(u64, rows->folded, 2 * OP_SHAPES_OF_OP));
	cr_expect(eq(u64, rows->calls, 3 * OP_SHAPES_OF_OP));
}

Test(query_ops, marks_are_no_calls)
{
	struct op_event mark = call_of("epoch", 5, 0, 0);

	mark.mark = true;
	profile_add_op(f.profile, &mark);
	profile_add_op(f.profile, &mark);
	cleanup(op_rows) struct op_rows *rows = ask_ops(&(struct op_query){ 0 });
	cr_assert(eq(sz, rows->count, 1));
	cr_expect(eq(u64, rows->rows[0].calls, 0));
	cr_expect(eq(u64, rows->rows[0].marks, 2));
	cr_expect(eq(u64, rows->rows[0].min_ns, 0));
}

Test(query_ops, counted_ops_have_sums_alone)
{
	struct op_count_event count = { .process = 1,
		                        .op = op_called(&f, "tiny"),
		                        .counts = { .calls = 1000,
		                                    .total_ns = 50 * MS,
		                                    .sum_ns = 50 * MS,
		                                    .self_ns = 40 * MS } };

	call("tiny", 0, 3, 3);
	profile_add_op_count(f.profile, &count);
	profile_add_op_count(f.profile, &count);
	EXPECT(&(struct op_query){ 0 }, "tiny 2001 83/103");
	cleanup(op_rows) struct op_rows *rows = ask_ops(&(struct op_query){ .by = OPS_BY_THREAD });
	cr_expect(eq(u64, rows->rows[0].untimed, 2000));
	cr_expect(eq(u64, rows->rows[0].median_ns / MS, 3), "of the one that was timed");
	cr_expect(eq(str, (char *)rows->rows[0].thread, "main"));
}

Test(query_ops, the_average_is_that_of_calls_whose_time_is_known)
{
	struct op_count_event count = { .process = 1,
		                        .op = op_called(&f, "deep"),
		                        .counts = { .calls = 10,
		                                    .timeless = 2,
		                                    .total_ns = 50 * MS,
		                                    .sum_ns = 240 * MS,
		                                    .self_ns = 40 * MS } };

	call("deep", 0, 30, 3);
	profile_add_op_count(f.profile, &count);
	cleanup(op_rows) struct op_rows *rows = ask_ops(&(struct op_query){ 0 });
	cr_expect(eq(u64, rows->rows[0].calls, 11));
	cr_expect(eq(u64, rows->rows[0].timeless, 2));
	cr_expect(eq(u64, rows->rows[0].total_ns / MS, 80));
	cr_expect(eq(u64, rows->rows[0].average_ns / MS, 30), "(30 + 240) / 9");
	struct totals totals;
	query_totals(f.profile, &totals);
	cr_expect(eq(u64, totals.timeless, 2));
}

// An op of "io", within one of "codec", within one of "io": the inner one's time is in both totals
// once.
Test(query_ops, domains_add_up_without_what_lies_within)
{
	struct op_event inner = call_of("io:read", 10, 20, 20);

	inner.parent = op_called(&f, "codec:decode");
	inner.within_domain = true;
	inner.allocated_bytes = inner.self_allocated_bytes = 50;
	profile_add_op(f.profile, &inner);
	call("codec:decode", 5, 30, 10);
	struct op_event outer = call_of("io:load", 0, 100, 70);
	outer.allocated_bytes = 50;
	profile_add_op(f.profile, &outer);
	call("plain", 200, 7, 7);
	EXPECT(&(struct op_query){ .by = OPS_BY_DOMAIN }, "io 2 90/100, codec 1 10/30, nvtx 1 7/7");
	EXPECT(&(struct op_query){ .by = OPS_BY_DOMAIN, .to_ns = 150 * MS },
	       "io 2 90/100, codec 1 10/30");
	EXPECT(&(struct op_query){ 0 }, "load 1 70/100, read 1 20/20, decode 1 10/30, plain 1 7/7");
	cleanup(op_rows) struct op_rows *rows = ask_ops(&(struct op_query){ .by = OPS_BY_DOMAIN });
	cr_expect(eq(u64, rows->rows[0].allocated_bytes, 50));
	cr_expect(eq(u64, rows->rows[0].self_allocated_bytes, 50));
}

Test(query_ops, threads_are_rows_or_filters)
{
	struct op_event event = call_of("op", 0, 10, 10);

	add_thread(&f, 2, 1, 101, "worker");
	profile_add_op(f.profile, &event);
	event.thread = 2;
	event.end_ns += 5 * MS;
	event.self_ns = 15 * MS;
	profile_add_op(f.profile, &event);
	EXPECT(&(struct op_query){ .by = OPS_BY_THREAD }, "op 1 15/15, op 1 10/10");
	EXPECT(&(struct op_query){ .thread = "worker" }, "op 1 15/15");
	EXPECT(&(struct op_query){ .process = "100" }, "op 2 25/25");
	struct error err = { 0 };
	cr_expect(eq(ptr, query_ops(f.profile, &(struct op_query){ .thread = "x" }, &err), NULL));
	cr_expect(eq(str, err.text, "no thread \"x\" in this profile"));
}

Test(query_ops, a_window_has_the_ops_that_began_in_it)
{
	for (uint64_t i = 0; i < 10; i++)
		call("op", i * 100, 10, 10);
	EXPECT(&(struct op_query){ .from_ns = 300 * MS, .to_ns = 600 * MS }, "op 3 30/30");
	EXPECT(&(struct op_query){ .from_ns = 900 * MS }, "op 1 10/10");
	EXPECT(&(struct op_query){ .from_ns = 2000 * MS }, "");
}

static void expect_all_but_three(const struct profile *profile)
{
	const struct op_query behind = { .from_ns = 300 * MS + MS / 2 };
	cleanup(op_rows) struct op_rows *rows = ask_ops_of(profile, &behind);

	cr_assert(eq(sz, rows->count, 1));
	cr_expect(eq(u64, rows->rows[0].calls, 37));
	cr_expect(eq(u64, rows->rows[0].total_ns, (13 * 10 + 12 * 11 + 12 * 12) * MS));
	cr_expect(eq(u64, rows->rows[0].min_ns, 10 * MS));
	cr_expect(eq(u64, rows->rows[0].max_ns, 12 * MS));
	cr_expect(rows->rows[0].median_ns > 10.9 * MS && rows->rows[0].median_ns < 11.1 * MS);
}

// Bins of 1 ms and wider would put the call at 300.5 ms to another side of the cut.
Test(query_ops, a_window_cuts_between_calls_and_knows_their_durations)
{
	for (uint64_t i = 0; i < 40; i++) {
		struct op_event event = call_of("op", i * 100, i < 3 ? 90 : 10 + i % 3, 5);
		event.begin_ns += MS / 2;
		event.end_ns += MS / 2;
		profile_add_op(f.profile, &event);
	}
	expect_all_but_three(f.profile);

	// A file does not say in which series an entry's calls are.
	struct error err = { 0 };
	name_all(&f);
	cr_assert(profile_write(f.profile, path, &err) == 0, "%s", err.text);
	cleanup(profile) struct profile *read = profile_read(path, &err);
	cr_assert(read != NULL, "%s", err.text);
	expect_all_but_three(read);
}

// Behind the calls that a series keeps one by one single slices know when each began.
Test(query_ops, a_window_of_late_calls_is_exact_as_far_as_they_were_kept)
{
	for (uint64_t i = 0; i < 2000; i++) {
		struct op_event event = call_of("op", i * 3, 2, 2);
		event.begin_ns += MS / 2;
		event.end_ns += MS / 2;
		profile_add_op(f.profile, &event);
	}
	// From the call of number 1501, in the middle of a bin, on: ten calls.
	const struct op_query query = { .from_ns = 1500 * 3 * MS + MS / 2,
		                        .to_ns = 1510 * 3 * MS + MS / 2 };
	cleanup(op_rows) struct op_rows *rows = ask_ops(&query);
	cr_assert(eq(sz, rows->count, 1));
	cr_expect(eq(u64, rows->rows[0].calls, 10));
	cr_expect(eq(u64, rows->rows[0].total_ns, 20 * MS));
	cr_expect(eq(u64, rows->rows[0].max_ns, 2 * MS));
}

// The first bin begins before the recording does.
Test(query_ops, where_a_recording_begins_nothing_is_cut_off)
{
	for (uint64_t i = 0; i < 5; i++) {
		struct op_event event = call_of("op", 100 + i * 100, 10, 10);
		event.begin_ns += MS / 2;
		event.end_ns += MS / 2;
		profile_add_op(f.profile, &event);
	}
	f.profile->run.recorded_from_ns = 100 * MS + MS / 2;
	f.profile->run.recorded_to_ns = 520 * MS;
	struct op_query query = { .by = OPS_BY_LINE,
		                  .from_ns = f.profile->run.recorded_from_ns,
		                  .to_ns = f.profile->run.recorded_to_ns };
	cleanup(op_rows) struct op_rows *all = ask_ops(&query);
	cr_assert(eq(sz, all->count, 1));
	cr_expect(eq(u64, all->rows[0].calls, 5));
	cr_expect(eq(u64, all->rows[0].self_ns, 50 * MS));
	query.from_ns += 50 * MS;
	cleanup(op_rows) struct op_rows *later = ask_ops(&query);
	cr_assert(eq(sz, later->count, 1));
	cr_expect(eq(u64, later->rows[0].calls, 4));
}

// Of one thread, and of what is open within itself, only the bins tell.
Test(query_ops, a_window_of_calls_that_are_not_kept_one_by_one)
{
	for (uint64_t i = 0; i < 10; i++) {
		struct op_event event = call_of("op", i * 100, 10, 10);
		event.within_itself = i == 4;
		profile_add_op(f.profile, &event);
	}
	cleanup(op_rows) struct op_rows *rows = ask_ops(&(struct op_query){ .from_ns = 600 * MS });
	cr_assert(eq(sz, rows->count, 1));
	cr_expect(eq(u64, rows->rows[0].calls, 4));
	cr_expect(eq(u64, rows->rows[0].median_ns, 0));
}

Test(query_ops, the_line_that_calls_is_exact_and_its_callers_are_sampled)
{
	call("gemm", 0, 10, 10);
	EXPECT(&(struct op_query){ .by = OPS_BY_STACK, .stack_frames = 1 }, "gemm[app] 1 10/10");
	name_all(&f);
	EXPECT(&(struct op_query){ .by = OPS_BY_STACK, .stack_frames = 1 },
	       "gemmstep (a.c:5) 1 10/10");
	EXPECT(&(struct op_query){ .by = OPS_BY_STACK, .stack_frames = 2 },
	       "gemmstep (a.c:5) < ? 1 10/10");
	add(&f, 1, METRIC_ON_CPU, 10, "main b.c:7 > epoch b.c:3 > step a.c:9 > <gemm> > k@libc");
	name_all(&f);
	EXPECT(&(struct op_query){ .by = OPS_BY_STACK, .stack_frames = 3 },
	       "gemmstep (a.c:5) < epoch (b.c:3) < main (b.c:7) 1 10/10");
	add(&f, 1, METRIC_ON_CPU, 30, "main b.c:8 > step a.c:9 > <gemm> > k@libc");
	name_all(&f);
	EXPECT(&(struct op_query){ .by = OPS_BY_STACK, .stack_frames = 2 },
	       "gemmstep (a.c:5) < ~main (b.c:8) 1 10/10");
	EXPECT(&(struct op_query){ .by = OPS_BY_STACK, .stack_frames = 9 },
	       "gemmstep (a.c:5) < ~main (b.c:8) 1 10/10");
	add_thread(&f, 2, 1, 101, "worker");
	add(&f, 2, METRIC_ON_CPU, 99, "pool b.c:4 > step a.c:9 > <gemm> > k@libc");
	name_all(&f);
	EXPECT(&(struct op_query){ .by = OPS_BY_STACK, .stack_frames = 2, .thread = "main" },
	       "gemmstep (a.c:5) < ~main (b.c:8) 1 10/10");
	EXPECT(&(struct op_query){ .by = OPS_BY_STACK, .stack_frames = 2 },
	       "gemmstep (a.c:5) < ~pool (b.c:4) 1 10/10");
}

Test(query_ops, samples_say_where_an_op_was)
{
	call("forward", 0, 100, 60);
	call("gemm", 10, 40, 40);
	add(&f, 1, METRIC_ON_CPU, 60, "main a.c:1 > !step a.c:5 > <forward> > step a.c:5");
	add(&f, 1, METRIC_ON_CPU, 41, "main a.c:1 > step a.c:6 > <forward> > f a.c:8 > <gemm> > k");
	add(&f, 1, METRIC_ON_CPU, 5, "main a.c:1 > step a.c:6 > f a.c:8 > <gemm> > k > <gemm> > k");
	add(&f, 1, METRIC_ON_CPU, 9, "main a.c:1");
	cleanup(op_rows) struct op_rows *rows = ask_ops(&(struct op_query){ 0 });

	cr_assert(eq(str, (char *)text_of(rows), "forward 1 60/100, gemm 1 40/40"));
	cr_expect(eq(u64, rows->rows[0].sampled_ns, 101 * MS));
	cr_expect(eq(u64, rows->rows[0].sampled_self_ns, 60 * MS));
	cr_expect(eq(u64, rows->rows[1].sampled_ns, 46 * MS), "once, also within itself");
	cr_expect(eq(u64, rows->rows[1].sampled_self_ns, 46 * MS));
}

Test(query_ops, functions_do_not_see_ops)
{
	add(&f, 1, METRIC_ON_CPU, 60, "main a.c:1 > !step a.c:5 > <forward> > step a.c:5");
	add(&f, 1, METRIC_ON_CPU, 40, "main a.c:1 > step a.c:6 > <forward> > f a.c:8 > <gemm> > k");
	name_all(&f);
	cr_expect(eq(str, (char *)ask(&f, &(struct query){ 0 }),
	             "step 60/100, k 40/40, main 0/100, f 0/40"));
	cr_expect(eq(str, (char *)ask(&f, &(struct query){ .by = BY_LINE }),
	             "step 60/60, k 40/40, main 0/100, f 0/40, step 0/40"));
	cr_expect(eq(str, (char *)ask(&f, &(struct query){ .by = BY_MODULE }),
	             "/usr/bin/app 100/100"));
}

Test(query_ops, the_call_tree_shows_ops_and_their_owners_once)
{
	add(&f, 1, METRIC_ON_CPU, 60, "main a.c:1 > !step a.c:5 > <forward> > step a.c:5");
	add(&f, 1, METRIC_ON_CPU, 20,
	    "main a.c:1 > !step a.c:5 > <a> > <b> > !step a.c:5 > [kernel]");
	add(&f, 1, METRIC_ON_CPU, 40, "main a.c:1 > step a.c:6 > <forward> > f a.c:8 > <gemm> > k");
	name_all(&f);
	cleanup(call_tree) struct call_tree *tree =
		query_call_tree(f.profile, &(struct query){ 0 }, 0, NULL);
	cr_expect(eq(str, (char *)tree_text(tree),
	             "all 0/120 (main 0/120 (step 0/120 (<forward> 60/100 (f 0/40 (<gemm> 0/40 (k "
	             "40/40))), <a> 0/20 (<b> 0/20 ([kernel] 20/20)))))"));
}

Test(query_ops, recursion_through_ops_is_shown_as_it_was)
{
	add(&f, 1, METRIC_ON_CPU, 30,
	    "main a.c:1 > fib a.c:5 > <fib> > fib a.c:5 > <fib> > !fib a.c:6 > <fib> > fib a.c:6");
	call("fib", 0, 30, 30);
	name_all(&f);
	cleanup(call_tree) struct call_tree *tree =
		query_call_tree(f.profile, &(struct query){ 0 }, 0, NULL);
	cr_expect(eq(str, (char *)tree_text(tree),
	             "all 0/30 (main 0/30 (fib 0/30 (<fib> 0/30 (fib 0/30 (<fib> 0/30 (fib 0/30 "
	             "(<fib> 30/30)))))))"));
	cr_expect(eq(str, (char *)ask(&f, &(struct query){ 0 }), "fib 30/30, main 0/30"));
	cleanup(op_rows) struct op_rows *rows = ask_ops(&(struct op_query){ 0 });
	cr_expect(eq(u64, rows->rows[0].sampled_ns, 30 * MS));
}

Test(query_ops, ops_that_nobody_knows_are_lost_and_left_out_of_stacks)
{
	struct op_event event = call_of("op", 0, 1, 1);
	struct frame frames[3];
	struct stack stack = {
		.thread = 1, .time_ns = f.now_ns, .weight_ns = MS, .samples = 1, .frames = frames
	};

	event.op = 99;
	profile_add_op(f.profile, &event);
	event.op = op_called(&f, "op");
	event.thread = 99;
	profile_add_op(f.profile, &event);
	stack.count = frames_of(&f, "main a.c:1 > <op> > work a.c:2", frames);
	frames[1].address = 99;
	profile_add_stack(f.profile, &stack);
	name_all(&f);
	cleanup(op_rows) struct op_rows *rows = ask_ops(&(struct op_query){ 0 });
	cleanup(call_tree) struct call_tree *tree =
		query_call_tree(f.profile, &(struct query){ 0 }, 0, NULL);
	cr_expect(eq(sz, rows->count, 0));
	cr_expect(eq(u64, rows->lost, 2));
	cr_expect(eq(str, (char *)tree_text(tree), "all 0/1 (main 0/1 (work 1/1))"));
}

Test(query_ops, the_time_that_shares_are_of_is_that_of_threads_with_ops)
{
	add_thread(&f, 2, 1, 101, "idle");
	call("op", 0, 100, 100);
	profile_end_thread(
		f.profile,
		&(struct thread_end){ .thread = 1, .time_ns = f.now_ns + 400 * MS, .exact = true });
	cleanup(op_rows) struct op_rows *rows = ask_ops(&(struct op_query){ 0 });
	cr_expect(eq(u64, rows->wall_ns, 400 * MS));
	cleanup(op_rows) struct op_rows *late = ask_ops(&(struct op_query){ .to_ns = 100 * MS });
	cr_expect(eq(u64, late->wall_ns, 100 * MS));
}

Test(query_ops, what_is_inlined_in_an_owner_stands_in_its_op)
{
	struct op_event event = call_of("forward", 0, 100, 60);
	struct frame frames[2];

	frames_of(&f, "scoped nvtx3.hpp:9|step a.c:5 > hook", frames);
	event.caller = frames[1];
	profile_add_op(f.profile, &event);
	// The owner itself, in what is inlined there; a callee of that; a call of its own.
	add(&f, 1, METRIC_ON_CPU, 60,
	    "main a.c:1 > !dot d.h:2|step a.c:6 > <forward> > !dot d.h:2|step a.c:6");
	add(&f, 1, METRIC_ON_CPU, 20, "main a.c:1 > dot d.h:3|step a.c:6 > <forward> > mul m.c:1");
	add(&f, 1, METRIC_ON_CPU, 10, "main a.c:1 > step a.c:7 > <forward> > mul m.c:1");
	add(&f, 1, METRIC_ON_CPU, 5, "main a.c:1 > dot d.h:3|step a.c:6 > mul m.c:1");
	add(&f, 1, METRIC_ON_CPU, 3, "main a.c:1 > dot d.h:2|step a.c:6");
	name_all(&f);
	cleanup(call_tree) struct call_tree *tree =
		query_call_tree(f.profile, &(struct query){ 0 }, 0, NULL);
	cr_expect(eq(str, (char *)tree_text(tree),
	             "all 0/98 (main 0/98 (step 0/98 (<forward> 0/90 (dot 60/80 (mul 20/20), mul "
	             "10/10), dot 3/8 (mul 5/5))))"));
	cleanup(call_tree) struct call_tree *hidden =
		query_call_tree(f.profile, &(struct query){ .hide = "dot" }, 0, NULL);
	cr_expect(eq(str, (char *)tree_text(hidden),
	             "all 0/98 (main 0/98 (step 3/98 (<forward> 60/90 (mul 30/30), mul 5/5)))"));
	cleanup(call_tree) struct call_tree *owners =
		query_call_tree(f.profile, &(struct query){ .user_code = "a.c" }, 0, NULL);
	cr_expect(eq(str, (char *)tree_text(owners), "all 0/98 (main 0/98 (step 98/98))"));
}

Test(query_ops, an_op_of_an_inlined_function_stands_in_that)
{
	struct op_event event = call_of("forward", 0, 100, 60);
	struct frame frames[2];

	frames_of(&f, "forward a.c:5|main a.c:9 > hook", frames);
	event.caller = frames[1];
	profile_add_op(f.profile, &event);
	add(&f, 1, METRIC_ON_CPU, 6,
	    "!dot d.h:2|forward a.c:6|main a.c:9 > <forward> > !dot d.h:2|forward a.c:6|main a.c:9");
	add(&f, 1, METRIC_ON_CPU, 4,
	    "!forward a.c:6|main a.c:9 > <forward> > <in> > !forward a.c:6|main a.c:9");
	name_all(&f);
	cleanup(call_tree) struct call_tree *tree =
		query_call_tree(f.profile, &(struct query){ 0 }, 0, NULL);
	cr_expect(eq(str, (char *)tree_text(tree),
	             "all 0/10 (main 0/10 (forward 0/10 (<forward> 0/10 (dot 6/6, <in> 4/4))))"));
}

// The call of LINE in "step", which "main" of train.py calls in line 9, and of what PyTorch does
// there.
static uint32_t chain_of(uint32_t line)
{
	const char *library = "/usr/lib/python3/dist-packages/torch/nn/functional.py";
	uint32_t outer = codes_add(f.codes, &(struct code){ "train.py", "main", 1 });
	uint32_t inner = codes_add(f.codes, &(struct code){ "train.py", "step", 2 });
	uint32_t theirs = codes_add(f.codes, &(struct code){ library, "linear", 3 });
	uint32_t call = codes_add_call(f.codes, 0, frame_of_python(outer, 9));

	call = codes_add_call(f.codes, call, frame_of_python(inner, line));
	return codes_add_call(f.codes, call, frame_of_python(theirs, 114));
}

static void call_in_python(const char *name, uint64_t total_ms, uint32_t line, uint32_t forward)
{
	struct op_event event = call_of(name, 0, total_ms, total_ms);

	event.caller = (struct frame){ 0 };
	event.chain = chain_of(line);
	event.forward = forward ? chain_of(forward) : 0;
	profile_add_op(f.profile, &event);
}

Test(query_ops, an_op_that_python_calls_is_called_from_the_users_own_line)
{
	call_in_python("mm", 10, 31, 0);
	call_in_python("mm", 30, 32, 0);
	call_in_python("MmBackward", 5, 40, 31);
	cleanup(op_rows) struct op_rows *rows = ask_ops(&(struct op_query){ 0 });
	cr_assert(eq(sz, rows->count, 2));
	cr_expect(eq(str, (char *)rows->rows[0].file, "train.py"));
	cr_expect(eq(int, rows->rows[0].line, 32));
	cr_expect(rows->rows[0].backward == false);
	cr_expect(eq(int, rows->rows[1].line, 31));
	cr_expect(rows->rows[1].backward);
}

// Libraries call ops in threads of theirs, too, as oneDNN does in those of OpenMP.
static void call_in_library(const char *name, uint64_t total_ms)
{
	struct op_event event = call_of(name, 0, total_ms, total_ms);
	struct frame frames[2];

	frames_of(&f, "start_task /usr/lib/pool.c:7 > hook", frames);
	event.caller = frames[1];
	profile_add_op(f.profile, &event);
}

Test(query_ops, the_users_own_line_goes_before_what_libraries_call)
{
	call_in_python("conv", 10, 31, 0);
	call_in_library("conv", 60);
	call_in_python("mm", 1, 32, 0);
	call_in_library("mm", 60);
	name_all(&f);
	cleanup(op_rows) struct op_rows *rows = ask_ops(&(struct op_query){ 0 });
	cr_assert(eq(sz, rows->count, 2));
	cr_expect(eq(str, (char *)rows->rows[0].name, "conv"));
	cr_expect(eq(str, (char *)rows->rows[0].file, "train.py"));
	cr_expect(eq(int, rows->rows[0].line, 31));
	cr_expect(eq(str, (char *)rows->rows[1].file, "/usr/lib/pool.c"));
}

Test(query_ops, callers_in_python_are_exact)
{
	call_in_python("mm", 10, 31, 0);
	call_in_python("mm", 10, 31, 0);
	call_in_python("mm", 30, 32, 0);
	call_in_python("MmBackward", 5, 40, 31);
	EXPECT(&(struct op_query){ .by = OPS_BY_STACK, .stack_frames = 2 },
	       "mmlinear (functional.py:114) < step (train.py:32) 1 30/30, "
	       "mmlinear (functional.py:114) < step (train.py:31) 2 20/20, "
	       "MmBackwardbackward of linear (functional.py:114) < step (train.py:31) 1 5/5");
	EXPECT(&(struct op_query){ .by = OPS_BY_STACK, .stack_frames = 1 },
	       "mmlinear (functional.py:114) 3 50/50, "
	       "MmBackwardbackward of linear (functional.py:114) 1 5/5");
}

static uint32_t collection(void)
{
	return ops_add(f.ops, &(struct op){ .provider = OP_PYTHON,
	                                    .domain = "",
	                                    .category = "",
	                                    .name = "garbage collection" })
	        ->id;
}

Test(query_ops, the_interpreters_own_code_is_no_line_that_calls)
{
	struct op_event last = call_of("-", 0, 20, 20), first = call_of("-", 0, 10, 10);

	first.op = last.op = collection();
	first.chain = chain_of(7);
	profile_add_op(f.profile, &first);
	profile_add_op(f.profile, &last);
	EXPECT(&(struct op_query){ .by = OPS_BY_LINE },
	       "[the interpreter itself] 1 20/20, step (train.py:7) 1 10/10");
	EXPECT(&(struct op_query){ .by = OPS_BY_STACK, .stack_frames = 1 },
	       "garbage collection[the interpreter itself] 1 20/20, "
	       "garbage collectionlinear (functional.py:114) 1 10/10");
	cleanup(op_rows) struct op_rows *rows = ask_ops(&(struct op_query){ 0 });
	cr_assert(eq(sz, rows->count, 1));
	cr_expect(eq(str, (char *)rows->rows[0].file, "train.py"));
}

Test(query_ops, callers_in_python_stay_when_other_code_is_forgotten)
{
	char stack[48];

	fixture_fini(&f);
	fixture_init(&f, &(struct profile_limits){ .nodes = 1 }); // raised to what can work
	uint32_t last = f.profile->limits.nodes;
	for (uint32_t i = 0; i < last; i++) {
		if (i == last / 2)
			call_in_python("mm", 30, 32, 0);
		snprintf(stack, sizeof(stack), "main a.c:1 > f%u a.c:%u", i, i);
		add(&f, 1, METRIC_ON_CPU, 1, stack);
	}
	cr_assert(lt(u32, f.profile->locations.count, last), "nothing was forgotten");
	cleanup(op_rows) struct op_rows *rows = ask_ops(&(struct op_query){ 0 });
	cr_expect(eq(str, (char *)rows->rows[0].function, "step"));
	cr_expect(eq(int, rows->rows[0].line, 32));
}

// "conv", called by the module INNER of the module OUTER, one of which may be 0.
static void call_in_modules(uint64_t total_ms, uint32_t outer, uint32_t inner, bool backward)
{
	struct op_event event = call_of("conv", 0, total_ms, total_ms);
	uint32_t code = codes_add(f.codes, &(struct code){ "train.py", "forward", 1 });
	uint32_t call = codes_add_call(f.codes, 0, frame_of_python(code, 9));

	event.caller = (struct frame){ 0 };
	event.chain = call;
	if (outer)
		call = codes_add_call(f.codes, call, frame_of_module(outer));
	if (inner)
		call = codes_add_call(f.codes, call, frame_of_module(inner));
	call = codes_add_call(f.codes, call, frame_of_python(code, 10));
	if (backward)
		event.forward = call;
	else
		event.chain = call;
	profile_add_op(f.profile, &event);
}

Test(query_ops, modules_have_what_their_ops_and_their_modules_take)
{
	uint32_t net = codes_add_module(f.codes, "Net");
	uint32_t conv = codes_add_module(f.codes, "Conv2d");

	call_in_modules(10, net, 0, false);
	call_in_modules(20, net, conv, false);
	call_in_modules(40, net, conv, true);
	call_in_modules(5, 0, 0, false);
	codes_name_module(f.codes, conv, "Net.first (Conv2d)");
	name_all(&f);
	EXPECT(&(struct op_query){ .by = OPS_BY_MODULE },
	       "Net.first (Conv2d) 2 60/60, Net 1 10/70, [in no module] 1 5/5");
	EXPECT(&(struct op_query){ .by = OPS_BY_STACK, .stack_frames = 2 },
	       "convbackward of forward (train.py:10) < forward (train.py:9) 1 40/40, "
	       "convforward (train.py:10) < forward (train.py:9) 3 35/35");
}

Test(query_ops, a_module_that_calls_no_op_itself_has_a_row)
{
	uint32_t net = codes_add_module(f.codes, "Sequential");
	uint32_t conv = codes_add_module(f.codes, "Conv2d");

	call_in_modules(20, net, conv, false);
	name_all(&f);
	EXPECT(&(struct op_query){ .by = OPS_BY_MODULE }, "Conv2d 1 20/20, Sequential 0 0/20");
}

Test(query_ops, a_line_has_all_ops_that_it_calls_and_their_derivatives_apart)
{
	call_in_python("mm", 10, 31, 0);
	call_in_python("add", 30, 31, 0);
	call_in_python("MmBackward", 5, 40, 31);
	call("gemm", 1, 2, 2);
	name_all(&f);
	EXPECT(&(struct op_query){ .by = OPS_BY_LINE },
	       "step (train.py:31) 2 40/40, backward of step (train.py:31) 1 5/5, "
	       "step (a.c:5) 1 2/2");
}
