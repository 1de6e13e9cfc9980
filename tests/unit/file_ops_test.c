// SPDX-License-Identifier: MIT
// What a profile file has of ops and of memory.
#include "base/error.h"
#include "base/record.h"
#include "merge/file/file.h"
#include "merge/query/query_ops.h"
#include "tests/support/expect.h"
#include "tests/unit/merge_fixture.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

static struct fixture f;
static char path[64];

static void begin(void)
{
	fixture_init(&f, NULL);
	snprintf(path, sizeof(path), "/tmp/file_ops_test.XXXXXX");
	close(mkstemp(path));
}

static void end(void)
{
	unlink(path);
	fixture_fini(&f);
}

TestSuite(file_ops, .init = begin, .fini = end);

static uint32_t chain_of(uint64_t line)
{
	uint32_t code = codes_add(f.codes, &(struct code){ "train.py", "step", 2 });
	uint32_t call = codes_add_call(f.codes, 0, frame_of_python(code, 50));

	if (line == 2)
		call = codes_add_call(f.codes, call,
		                      frame_of_module(codes_add_module(f.codes, "Net")));
	return line ? codes_add_call(f.codes, call, frame_of_python(code, (uint32_t)line)) : call;
}

static void fill(void)
{
	const uint64_t shapes[][2] = { { 3, 4 }, { 5, 6 } };
	struct frame frames[2];

	add_thread(&f, 2, 1, 101, "worker");
	frames_of(&f, "step a.c:5 > hook", frames);
	for (uint64_t i = 0; i < 400; i++) {
		struct op_event event = {
			.thread = 1 + i % 2,
			.op = op_called(&f, i % 3 ? "io:load" : "gemm"),
			.parent = i % 5 ? op_called(&f, "io:load") : 0,
			.flags = i == 399 ? OP_LEFT_OPEN : 0,
			.mark = i % 7 == 0,
			.within_itself = i % 11 == 0,
			.within_domain = i % 4 == 0,
			.begin_ns = f.now_ns + i * 9 * MS,
			.end_ns = f.now_ns + i * 9 * MS + i * i * 1000,
			.self_ns = i * 500,
			.allocated_bytes = i * 16,
			.freed_bytes = i * 24,
			.self_allocated_bytes = i,
			.self_freed_bytes = i / 2,
			.devices = { i * 32, i * 40, i * 3, i * 5 },
			.detail = i % 2 ? OP_DETAIL_SHAPE : OP_DETAIL_NONE,
			.detail_count = i % 2 ? 2 : 0,
			.details = shapes[i % 4 / 2],
			.caller = i % 13 ? frames[1] : (struct frame){ 0 },
			.chain = i % 17 ? 0 : chain_of(i % 3),
			.forward = i % 34 ? 0 : chain_of(i % 4),
		};
		profile_add_op(f.profile, &event);
	}
	profile_add_op_count(f.profile,
	                     &(struct op_count_event){ .process = 1,
	                                               .op = op_called(&f, "tiny"),
	                                               .counts = { .calls = 70000,
	                                                           .timeless = 3,
	                                                           .total_ns = 9 * MS,
	                                                           .sum_ns = 10 * MS,
	                                                           .self_ns = 8 * MS } });
	add(&f, 1, METRIC_ON_CPU, 30, "main b.c:1 > !step a.c:6 > <gemm> > step a.c:6");
	add(&f, 2, METRIC_ON_CPU, 20, "main b.c:1 > step a.c:6 > <io:load> > read@libc");
	profile_add_op(f.profile, &(struct op_event){ .thread = 77 });
	name_all(&f);
}

static void allocate(uint64_t address, uint64_t bytes, const char *stack)
{
	struct frame frames[8];
	uint32_t count = frames_of(&f, stack, frames);

	profile_add_alloc(f.profile, &(struct alloc_event){ .thread = 1,
	                                                    .time_ns = f.now_ns + address,
	                                                    .address = address,
	                                                    .weight_bytes = bytes,
	                                                    .count = count,
	                                                    .frames = frames });
}

static void fill_memory(void)
{
	allocate(1, 5000, "main b.c:1 > load b.c:2");
	allocate(2, 7000, "main b.c:1 > <io:load> > load b.c:3");
	profile_add_memory(f.profile, &(struct memory_event){ .process = 1,
	                                                      .time_ns = f.now_ns + 5,
	                                                      .allocations = 70,
	                                                      .frees = 30,
	                                                      .allocated_bytes = 12345,
	                                                      .freed_bytes = 45 });
	profile_add_free(f.profile, &(struct free_event){ 1, f.now_ns + 6, 2 });
	allocate(3, 100, "main b.c:9");
	name_all(&f);
}

static void write_profile(void)
{
	struct error err = { 0 };

	cr_assert(profile_write(f.profile, path, &err) == 0, "%s", err.text);
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static void expect_same_row(const struct op_row *a, const struct op_row *b)
{
	// From here on there are numbers alone, and nothing between them.
	size_t numbers = offsetof(struct op_row, calls);

	cr_expect(same_text(a->name, b->name) && same_text(a->provider, b->provider) &&
	          same_text(a->domain, b->domain) && same_text(a->shape, b->shape) &&
	          same_text(a->stack, b->stack) && same_text(a->file, b->file) &&
	          same_text(a->thread, b->thread));
	cr_expect(eq(int, a->line, b->line));
	cr_expect(eq(int, a->backward, b->backward));
	cr_expect(eq(u32, a->tid, b->tid));
	cr_expect(memcmp((const char *)a + numbers, (const char *)b + numbers,
	                 sizeof(*a) - numbers) == 0);
}

Test(file_ops, a_profile_that_was_read_answers_like_the_one_that_was_written)
{
	struct error err = { 0 };

	fill();
	write_profile();
	cleanup(profile) struct profile *p = profile_read(path, &err);
	cr_assert(p != NULL, "%s", err.text);
	for (int by = OPS_BY_OP; by <= OPS_BY_LINE; by++) {
		for (uint64_t to_ns = 0; to_ns < 900 * MS; to_ns += 400 * MS) {
			struct op_query query = { .by = (enum op_by)by,
				                  .stack_frames = 3,
				                  .to_ns = to_ns };
			cleanup(op_rows) struct op_rows *left = query_ops(f.profile, &query, NULL);
			cleanup(op_rows) struct op_rows *right = query_ops(p, &query, NULL);
			cr_assert(eq(sz, left->count, right->count));
			cr_expect(ge(sz, left->count, by == OPS_BY_MODULE ? 1 : 2));
			for (size_t i = 0; i < left->count; i++)
				expect_same_row(&left->rows[i], &right->rows[i]);
			cr_expect(eq(u64, left->wall_ns, right->wall_ns));
			cr_expect(eq(u64, left->calls, right->calls));
			cr_expect(eq(u64, right->lost, 1));
		}
	}
	cleanup(call_tree) struct call_tree *tree =
		query_call_tree(p, &(struct query){ 0 }, 0, NULL);
	cr_expect(eq(str, (char *)tree_text(tree),
	             "all 0/50 (main 0/50 (step 0/50 (<gemm> 30/30, <load> 0/20 (read 20/20))))"));
}

static void expect_same_memory(const struct profile *a, const struct profile *b, enum memory_by by)
{
	cleanup(memory_rows) struct memory_rows *left = query_memory(a, by, true, NULL);
	cleanup(memory_rows) struct memory_rows *right = query_memory(b, by, true, NULL);

	cr_assert(eq(sz, left->count, right->count));
	cr_expect(ge(sz, left->count, 1));
	for (size_t i = 0; i < left->count; i++) {
		const struct memory_row *one = &left->rows[i], *other = &right->rows[i];
		size_t numbers = offsetof(struct memory_row, allocated_bytes);
		cr_expect(same_text(one->name, other->name) && same_text(one->file, other->file) &&
		          same_text(one->module, other->module));
		cr_expect(eq(int, one->line, other->line));
		cr_expect(memcmp((const char *)one + numbers, (const char *)other + numbers,
		                 sizeof(*one) - numbers) == 0);
	}
	struct memory_rows one = *left, other = *right;
	one.rows = other.rows = NULL;
	one.texts = other.texts = NULL;
	cr_expect(memcmp(&one, &other, sizeof(one)) == 0);
}

Test(file_ops, memory_is_there_as_it_was)
{
	struct error err = { 0 };

	fill();
	fill_memory();
	write_profile();
	cleanup(profile) struct profile *p = profile_read(path, &err);
	cr_assert(p != NULL, "%s", err.text);
	for (int by = MEMORY_BY_FUNCTION; by <= MEMORY_BY_OP; by++)
		expect_same_memory(f.profile, p, (enum memory_by)by);
	cleanup(memory_rows) struct memory_rows *rows =
		query_memory(p, MEMORY_BY_FUNCTION, true, NULL);
	cr_expect(eq(u64, rows->peak_bytes, 12300));
	cr_expect(eq(u64, rows->rows[0].live_at_peak_bytes, 12000), "load");
	cr_expect(eq(u64, rows->rows[0].live_at_end_bytes, 5000));
	cr_expect(eq(u64, rows->samples, 3));
}

Test(file_ops, what_was_read_can_be_written_again)
{
	fill();
	write_profile();
	cleanup(profile) struct profile *p = profile_read(path, NULL);
	cr_assert(p && profile_write(p, path, NULL) == 0);
	cleanup(profile) struct profile *again = profile_read(path, NULL);
	cr_assert(again != NULL);
	cleanup(op_rows) struct op_rows *rows = query_ops(again, &(struct op_query){ 0 }, NULL);
	cr_expect(eq(u64, rows->calls, 400 - 58 + 70000), "every seventh was a mark");
}

static sqlite3 *open_file(void)
{
	sqlite3 *db = NULL;

	cr_assert(sqlite3_open(path, &db) == SQLITE_OK);
	return db;
}

static int64_t number(const char *sql)
{
	sqlite3 *db = open_file();
	sqlite3_stmt *select = NULL;

	cr_assert(sqlite3_prepare_v2(db, sql, -1, &select, NULL) == SQLITE_OK, "%s",
	          sqlite3_errmsg(db));
	cr_assert(sqlite3_step(select) == SQLITE_ROW);
	int64_t value = sqlite3_column_int64(select, 0);
	sqlite3_finalize(select);
	sqlite3_close(db);
	return value;
}

Test(file_ops, people_can_ask_in_sql)
{
	fill();
	fill_memory();
	write_profile();
	cr_expect(eq(i64, number("SELECT allocated_bytes FROM allocation WHERE function='load'"),
	             12000));
	cr_expect(eq(i64, number("SELECT calls FROM op WHERE name = 'tiny'"), 70000));
	cr_expect(eq(i64, number("SELECT self_ns FROM op WHERE name = 'tiny'"), 8 * (int64_t)MS));
	cr_expect(eq(i64, number("SELECT count(*) FROM op WHERE provider = 'nvtx'"), 3));
	cr_expect(
		eq(i64, number("SELECT sampled_ns FROM op WHERE domain = 'io'"), 20 * (int64_t)MS));
}

Test(file_ops, a_profile_without_ops_has_no_tables_of_them)
{
	add(&f, 1, METRIC_ON_CPU, 30, "main a.c:1");
	name_all(&f);
	write_profile();
	cr_expect(eq(i64, number("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'op%'"), 0));
	cr_expect(eq(i64, number("SELECT count(*) FROM run WHERE key LIKE 'op%'"), 0));
}

static void change(const char *sql)
{
	sqlite3 *db = open_file();

	cr_assert(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK, "%s", sqlite3_errmsg(db));
	sqlite3_close(db);
}

Test(file_ops, changes_to_ops_are_noticed)
{
	static const char *const changes[] = {
		"DELETE FROM op_name",
		"DELETE FROM op_name WHERE id = 2",
		"DROP TABLE op_name",
		"DROP TABLE op_chunk",
		"DROP TABLE op_duration_chunk",
		"UPDATE op_name SET provider=0",
		"UPDATE op_name SET provider=99",
		"UPDATE op_name SET name=NULL",
		"UPDATE op_name SET name='other' WHERE id=1",
		"UPDATE op_name SET name='gemm', domain=''",
		"UPDATE op_chunk SET data=x'00'",
		"DELETE FROM op_chunk",
		"INSERT INTO op_chunk SELECT 2, rows, data FROM op_chunk",
		"INSERT INTO op_bin_chunk SELECT 2, rows, data FROM op_bin_chunk",
		"INSERT INTO op_duration_chunk SELECT 2, rows, data FROM op_duration_chunk",
		"DELETE FROM run WHERE key='ops'",
		"UPDATE run SET value=4000000000000 WHERE key='ops'",
		"UPDATE run SET value=2 WHERE key='ops'",
		"UPDATE run SET value=0 WHERE key='op_bin_ns'",
		"UPDATE run SET value=-1 WHERE key='op_bin_ns'",
		"UPDATE run SET value=-1 WHERE key='op_origin_ns'",
		"UPDATE run SET value=-1 WHERE key='end_bytes'",
		"UPDATE run SET value=0 WHERE key='peak_bytes'",
		"UPDATE run SET value=0 WHERE key='allocation_sites'",
		"DELETE FROM run WHERE key='allocation_sites'",
		"DROP TABLE site_chunk",
		"DELETE FROM site_chunk",
		"UPDATE site_chunk SET data=(SELECT data FROM op_bin_chunk)",
		"INSERT INTO site_chunk SELECT 2, rows, data FROM site_chunk",
	};

	fill();
	fill_memory();
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		struct error err = { 0 };
		write_profile();
		change(changes[i]);
		cr_expect(eq(ptr, profile_read(path, &err), NULL));
		cr_expect(strstr(err.text, "is damaged: ") != NULL, "%s: \"%s\"", changes[i],
		          err.text);
	}
}
