// SPDX-License-Identifier: MIT
#include "merge/query/query_slices.h"

#include "base/error.h"
#include "base/record.h"
#include "merge/gpu/gpu_works.h"
#include "merge/profile/profile_data.h"
#include "tests/support/expect.h"
#include "tests/unit/merge_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct fixture f;
static char path[64];

static void begin(void)
{
	fixture_init(&f, NULL);
	snprintf(path, sizeof(path), "/tmp/slices-%d.bneck", (int)getpid());
}

static void end(void)
{
	unlink(path);
	fixture_fini(&f);
}

TestSuite(query_slices, .init = begin, .fini = end);

// A call of NAME on THREAD, in microseconds after the start.
static void call(uint32_t thread, const char *name, uint64_t from_us, uint64_t to_us)
{
	const uint64_t shape[] = { 3, 4 };
	const struct op_event event = {
		.thread = thread,
		.op = op_called(&f, name),
		.begin_ns = 1000 * MS + from_us * 1000,
		.end_ns = 1000 * MS + to_us * 1000,
		.mark = from_us == to_us,
		.detail = OP_DETAIL_SHAPE,
		.detail_count = 2,
		.details = shape,
	};

	profile_add_op(f.profile, &event);
}

static void work(uint32_t stream, uint64_t from_us, uint64_t to_us)
{
	const struct op wanted = {
		.provider = OP_GPU, .domain = "", .category = "", .name = "gemm"
	};
	const struct record_gpu_kernel record = {
		.head = { .type = RECORD_GPU_KERNEL, .time_ns = 1000 * MS + to_us * 1000 },
		.begin_ns = 1000 * MS + from_us * 1000,
		.end_ns = 1000 * MS + to_us * 1000,
		.place = { 5, 0, 1, stream },
		.grid = { 8, 1, 1 },
		.block = { 256, 1, 1 },
	};
	struct frame frames[64];
	const struct gpu_site_event site = { .site = 1,
		                             .thread = 1,
		                             .time_ns = f.now_ns,
		                             .count =
		                                     frames_of(&f, "main a.c:1 > <launch>", frames),
		                             .frames = frames };
	const struct gpu_event event = { .process = 1,
		                         .op = ops_add(f.ops, &wanted)->id,
		                         .record = &record.head,
		                         .call = { 1, op_called(&f, "launch"), 1001 * MS } };

	profile_add_gpu_site(f.profile, &site);
	profile_add_gpu(f.profile, &event);
}

static struct slice_reader *reader_of(const struct profile *p, const struct slice_query *query)
{
	struct error err = { 0 };
	struct slice_reader *reader = slice_reader_new(p, query, &err);

	cr_assert(ne(ptr, reader, NULL), "%s", err.text);
	return reader;
}

// "thread name from-to, …" in microseconds.
static const char *rows_of(const struct profile *p, const struct slice_query *query)
{
	static char text[4096];
	cleanup(slice_reader) struct slice_reader *reader = reader_of(p, query);
	struct error err = { 0 };
	struct slice_row row;
	size_t used = 0;
	int more;

	text[0] = '\0';
	while ((more = slice_reader_next(reader, &row, &err)) > 0)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%u %s %lu-%lu",
		                         used ? ", " : "", row.thread, row.name,
		                         (unsigned long)(row.begin_ns / 1000),
		                         (unsigned long)(row.end_ns / 1000));
	cr_assert(eq(int, more, 0), "%s", err.text);
	return text;
}

static struct profile *saved(void)
{
	struct error err = { 0 };

	cr_assert(eq(int, profile_write(f.profile, path, &err), 0), "%s", err.text);
	struct profile *p = profile_read(path, &err);
	cr_assert(ne(ptr, p, NULL), "%s", err.text);
	return p;
}

static void fill(void)
{
	add_thread(&f, 2, 1, 101, "worker");
	call(1, "load", 100, 400); // inner ones end first
	call(2, "send", 200, 300);
	call(1, "step", 100, 5000);
	call(1, "tick", 5000, 5000);
	work(7, 1500, 2500);
	f.now_ns = 1000 * MS + 2600 * 1000;
	add(&f, 1, METRIC_OFF_LOCK, 1, "main a.c:1 > wait a.c:7 > futex@libc");
	add(&f, 1, METRIC_ON_CPU, 1, "main a.c:1");
	name_all(&f);
}

#define FILLED                                                                                     \
	"1 step 100-5000, 1 load 100-400, 2 send 200-300, 1 gemm 1500-2500, "                      \
	"1 locks 2600-3600, 1 tick 5000-5000"

Test(query_slices, come_in_the_order_in_which_they_begin_and_callers_before_callees)
{
	const struct slice_query all = { 0 };

	fill();
	cr_expect(eq(str, (char *)rows_of(f.profile, &all), FILLED));
}

Test(query_slices, a_profile_that_was_read_has_the_same)
{
	const struct slice_query all = { 0 };

	fill();
	cleanup(profile) struct profile *p = saved();
	cr_expect(eq(str, (char *)rows_of(p, &all), FILLED));
}

Test(query_slices, a_window_has_what_reaches_into_it)
{
	fill();
	const struct slice_query early = { .to_ns = 150000 };
	const struct slice_query middle = { .from_ns = 300000, .to_ns = 2600000 };
	const struct slice_query late = { .from_ns = 5000000 };

	cr_expect(eq(str, (char *)rows_of(f.profile, &early), "1 step 100-5000, 1 load 100-400"));
	cr_expect(eq(str, (char *)rows_of(f.profile, &middle),
	             "1 step 100-5000, 1 load 100-400, 1 gemm 1500-2500"));
	cr_expect(eq(str, (char *)rows_of(f.profile, &late), "1 tick 5000-5000"));
}

Test(query_slices, threads_and_kinds_can_be_chosen)
{
	fill();
	const struct slice_query worker = { .thread = "worker" };
	const struct slice_query waits = { .kinds = 1 << SLICE_WAIT | 1 << SLICE_GPU };
	const struct slice_query nobody = { .thread = "nobody" };
	struct error err = { 0 };

	cr_expect(eq(str, (char *)rows_of(f.profile, &worker), "2 send 200-300"));
	cr_expect(
		eq(str, (char *)rows_of(f.profile, &waits), "1 gemm 1500-2500, 1 locks 2600-3600"));
	cr_expect(eq(ptr, slice_reader_new(f.profile, &nobody, &err), NULL));
	cr_expect(ne(ptr, strstr(err.text, "nobody"), NULL), "%s", err.text);
}

Test(query_slices, each_kind_tells_what_it_knows)
{
	const struct slice_query all = { 0 };
	struct slice_row row;

	fill();
	cleanup(profile) struct profile *p = saved();
	cleanup(slice_reader) struct slice_reader *reader = reader_of(p, &all);
	while (slice_reader_next(reader, &row, NULL) > 0) {
		struct slice_thread thread = { 0 };
		struct slice_stream stream = { 0 };
		cr_assert(slice_reader_thread(reader, row.thread, &thread));
		cr_expect(eq(str, (char *)thread.process, "app"));
		if (row.kind == SLICE_OP)
			cr_expect(eq(str, (char *)row.provider, "nvtx"));
		if (row.kind == SLICE_OP && strcmp(row.name, "load") == 0)
			cr_expect(eq(str, (char *)row.shape, "[3, 4]"));
		if (row.kind == SLICE_OP)
			cr_expect(eq(int, row.mark, strcmp(row.name, "tick") == 0));
		if (row.kind == SLICE_WAIT) {
			cr_expect(eq(int, row.metric, METRIC_OFF_LOCK));
			cr_expect(eq(str, (char *)row.function, "wait"));
			cr_expect(eq(int, row.line, 7));
		}
		if (row.kind == SLICE_GPU) {
			cr_assert(slice_reader_stream(reader, row.stream, &stream));
			cr_expect(eq(u32, stream.number, 7));
			cr_expect(eq(u32, row.work->shape.block[0], 256));
			cr_expect(row.called && row.call_ns == MS);
		}
	}
}

static uint64_t counted(const struct profile *p, bool *in_order)
{
	const struct slice_query all = { 0 };
	cleanup(slice_reader) struct slice_reader *reader = reader_of(p, &all);
	struct slice_row row;
	uint64_t count = 0, last_ns = 0;

	*in_order = true;
	for (; slice_reader_next(reader, &row, NULL) > 0; count++) {
		*in_order &= row.begin_ns >= last_ns;
		last_ns = row.begin_ns;
	}
	return count;
}

// Ops within ops within one that lasts all the time: many blocks, and stragglers.
static void many(uint64_t steps)
{
	for (uint64_t i = 0; i < steps; i++) {
		call(1, "inner", 10 * i + 2, 10 * i + 3);
		call(1, "outer", 10 * i + 1, 10 * i + 4);
		if (i % 100 == 99)
			call(1, "epoch", 10 * (i - 99), 10 * i + 5);
	}
	call(1, "run", 0, 10 * steps + 9);
}

Test(query_slices, many_blocks_are_merged_in_order)
{
	bool in_order;

	many(20000);
	cr_expect(eq(u64, counted(f.profile, &in_order), 40201));
	cr_expect(in_order);
	cleanup(profile) struct profile *p = saved();
	cr_expect(eq(u64, counted(p, &in_order), 40201));
	cr_expect(in_order);
}

Test(query_slices, most_blocks_follow_each_other)
{
	const struct slices *s = &f.profile->slices;
	uint32_t overlaps = 0;

	many(40000);
	for (uint32_t i = 1; i < s->count; i++)
		overlaps += s->blocks[i].begin_ns < s->blocks[i - 1].end_ns;
	cr_assert(gt(u32, s->count, 15));
	cr_expect(le(u32, overlaps, 2));
}

Test(query_slices, beyond_the_limit_they_are_counted_and_the_profile_says_from_when)
{
	struct totals totals;
	bool in_order;

	profile_set_timeline(f.profile, 5000);
	for (uint64_t i = 0; i < 6000; i++)
		call(1, "step", 10 * i, 10 * i + 5);
	cleanup(profile) struct profile *p = saved();
	cr_expect(eq(u64, counted(p, &in_order), 5000));
	query_totals(p, &totals);
	cr_expect(eq(u64, totals.slices, 5000));
	cr_expect(eq(u64, totals.slices_dropped, 1000));
	cr_expect(eq(u64, totals.slices_until_ns, 50005 * 1000));
}

Test(query_slices, with_a_limit_of_none_there_are_none_and_nothing_is_missing)
{
	struct totals totals;
	bool in_order;

	profile_set_timeline(f.profile, 0);
	fill();
	cleanup(profile) struct profile *p = saved();
	cr_expect(eq(u64, counted(p, &in_order), 0));
	query_totals(p, &totals);
	cr_expect(eq(u64, totals.slices_dropped, 0));
}

Test(query_slices, those_of_hidden_threads_are_not_told)
{
	const struct slice_query all = { 0 };

	add_thread(&f, 2, 1, 101, "worker");
	call(2, "send", 200, 300);
	call(1, "load", 200, 300);
	profile_hide_thread(f.profile, 2);
	cr_expect(eq(str, (char *)rows_of(f.profile, &all), "1 load 200-300"));
}

Test(query_slices, waits_follow_their_nodes_when_the_tree_is_folded)
{
	const struct slice_query waits = { .kinds = 1 << SLICE_WAIT };
	const uint32_t nodes = f.profile->paths.count;
	struct slice_row row;

	for (int i = 0; i < 5000; i++)
		add(&f, 1, METRIC_OFF_LOCK, 1, "main a.c:1 > wait a.c:7");
	cleanup_free uint32_t *map = calloc((size_t)f.profile->paths.count + 1, sizeof(*map));
	for (uint32_t i = 0; i < f.profile->paths.count; i++)
		map[i] = i + 1;
	cr_assert(gt(u32, f.profile->paths.count, nodes));
	map[f.profile->paths.count - 1]--; // to the caller
	slices_move_nodes(&f.profile->slices, map);
	name_all(&f);
	cleanup(slice_reader) struct slice_reader *reader = reader_of(f.profile, &waits);
	int count = 0;
	for (; slice_reader_next(reader, &row, NULL) > 0; count++)
		cr_assert(eq(str, (char *)row.function, "main"));
	cr_expect(eq(int, count, 5000));
}

// Whatever a file holds instead of what was written.
Test(query_slices, a_block_that_cannot_be_is_an_error)
{
	const struct slice_query all = { 0 };

	fill();
	cleanup(profile) struct profile *p = saved();
	struct slices *s = &p->slices;
	int errors = 0;

	for (uint32_t i = 0; i < s->count; i++) {
		uint8_t *bytes = s->blocks[i].bytes;
		for (size_t bit = 0; bit < 8 * s->blocks[i].size; bit++) {
			struct error err = { 0 };
			struct slice_row row;
			int more;
			bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
			cleanup(slice_reader) struct slice_reader *reader = reader_of(p, &all);
			while ((more = slice_reader_next(reader, &row, &err)) > 0)
				cr_assert(ne(ptr, (void *)row.name, NULL));
			errors += more < 0 && strstr(err.text, "damaged");
			bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
	}
	cr_expect(gt(int, errors, 100));
}

Test(query_slices, numbers_of_what_is_not_there_are_an_error)
{
	static const struct {
		const char *label;
		struct slice slice;
	} rows[] = {
		{ "an op", { .kind = SLICE_OP, .thread = 1, .what = 99 } },
		{ "a shape", { .kind = SLICE_OP, .thread = 1, .what = 1, .place = 9999 } },
		{ "a thread", { .kind = SLICE_OP, .thread = 9, .what = 1 } },
		{ "no thread", { .kind = SLICE_OP, .what = 1 } },
		{ "a flag", { .kind = SLICE_OP, .thread = 1, .what = 1, .number = 4 } },
		{ "a cause", { .kind = SLICE_WAIT, .thread = 1, .what = METRIC_COUNT } },
		{ "no wait", { .kind = SLICE_WAIT, .thread = 1, .what = METRIC_ON_CPU } },
		{ "a node", { .kind = SLICE_WAIT, .thread = 1, .what = 2, .place = 9999 } },
		{ "a work", { .kind = SLICE_GPU, .thread = 1, .what = 2, .place = 1 } },
		{ "a stream", { .kind = SLICE_GPU, .thread = 1, .what = 1, .place = 2 } },
	};
	const struct slice_query all = { 0 };

	fill();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct error err = { 0 };
		struct slice_row row;
		int more;
		slices_fini(&f.profile->slices);
		slices_init(&f.profile->slices, 10);
		slices_add(&f.profile->slices, &rows[i].slice);
		cleanup(slice_reader) struct slice_reader *reader = reader_of(f.profile, &all);
		while ((more = slice_reader_next(reader, &row, &err)) > 0)
			;
		cr_expect(eq(int, more, -1), "%s", rows[i].label);
	}
}
