// SPDX-License-Identifier: MIT
#include "merge/op/op_table.h"
#include "merge/query/query_counters.h"

#include "base/error.h"
#include "base/record.h"
#include "merge/profile/profile_parts.h"
#include "tests/support/expect.h"
#include "tests/unit/merge_fixture.h"

#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct fixture f;
static char path[64];

static void begin(void)
{
	fixture_init(&f, NULL);
	add_thread(&f, 2, 1, 101, "worker");
	snprintf(path, sizeof(path), "/tmp/counters-%d.bneck", (int)getpid());
}

static void end(void)
{
	unlink(path);
	fixture_fini(&f);
}

TestSuite(query_counters, .init = begin, .fini = end);

static uint32_t counter(const char *name)
{
	const struct op wanted = {
		.provider = OP_ITT, .domain = "io", .category = OP_COUNTER, .name = name
	};

	return ops_add(f.ops, &wanted)->id;
}

static void tell(uint32_t thread, const char *name, enum op_detail kind, uint64_t value)
{
	static uint64_t now;
	const struct op_event event = {
		.thread = thread,
		.op = counter(name),
		.mark = true,
		.begin_ns = f.now_ns + ++now,
		.end_ns = f.now_ns + now,
		.detail = (uint16_t)kind,
		.detail_count = 1,
		.details = &value,
	};

	profile_add_op(f.profile, &event);
}

static void tell_real(uint32_t thread, const char *name, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	tell(thread, name, OP_DETAIL_DOUBLE, bits);
}

// "name changes+untold last min max sum, …"
static const char *text_of(const struct profile *p, const struct query *query)
{
	static char text[1024];
	struct error err = { 0 };
	cleanup(counter_rows) struct counter_rows *rows = query_counters(p, query, &err);
	size_t used = 0;

	cr_assert(rows != NULL, "%s", err.text);
	text[0] = '\0';
	for (size_t i = 0; i < rows->count; i++) {
		const struct counter_row *row = &rows->rows[i];
		used += (size_t)snprintf(text + used, sizeof(text) - used,
		                         "%s%s %lu+%lu %g %g %g %g", i ? ", " : "", row->name,
		                         (unsigned long)row->changes, (unsigned long)row->untold,
		                         row->last, row->min, row->max, row->sum);
	}
	return text;
}

static void expect(int line, const struct profile *p, const struct query *query, const char *text)
{
	cr_expect(eq(str, (char *)text_of(p, query), (char *)text), "line %d", line);
}

#define EXPECT(...) expect(__LINE__, __VA_ARGS__)

static void fill(void)
{
	tell(1, "queue", OP_DETAIL_UNSIGNED, 5);
	tell(2, "queue", OP_DETAIL_UNSIGNED, 40);
	tell(1, "queue", OP_DETAIL_SIGNED, (uint64_t)-3);
	tell_real(2, "load", 2.5);
	tell_real(2, "load", 0.25);
}

Test(query_counters, values_are_summed_up_over_threads)
{
	fill();
	EXPECT(f.profile, &(struct query){ 0 },
	       "load 2+0 0.25 0.25 2.5 2.75, queue 3+0 -3 -3 40 42");
	EXPECT(f.profile, &(struct query){ .thread = "worker" },
	       "load 2+0 0.25 0.25 2.5 2.75, queue 1+0 40 40 40 40");
	EXPECT(f.profile, &(struct query){ .thread = "100" }, "queue 2+0 -3 -3 5 2");
}

Test(query_counters, what_is_no_number_or_was_dropped_is_told)
{
	tell_real(1, "odd", NAN);
	tell_real(1, "odd", -0.0);
	tell_real(1, "odd", INFINITY);
	profile_add_op_count(f.profile, &(struct op_count_event){ .process = 1,
	                                                          .op = counter("odd"),
	                                                          .counts = { .marks = 7 } });
	EXPECT(f.profile, &(struct query){ 0 }, "odd 2+8 inf 0 inf inf");
	cr_expect(eq(u64, profile_op_table(f.profile)->entries[0].sums.calls, 0),
	          "a change is no call");
}

Test(query_counters, a_mark_of_another_category_is_no_counter)
{
	const uint64_t value = 3;

	profile_add_op(f.profile, &(struct op_event){ .thread = 1,
	                                              .op = op_called(&f, "io:plain"),
	                                              .mark = true,
	                                              .begin_ns = f.now_ns,
	                                              .end_ns = f.now_ns,
	                                              .detail = OP_DETAIL_UNSIGNED,
	                                              .detail_count = 1,
	                                              .details = &value });
	EXPECT(f.profile, &(struct query){ 0 }, "");
}

static void write_profile(void)
{
	struct error err = { 0 };

	name_all(&f);
	cr_assert(profile_write(f.profile, path, &err) == 0, "%s", err.text);
}

Test(query_counters, they_are_in_the_file_as_they_were)
{
	struct error err = { 0 };
	const struct query everything = { 0 };
	char before[1024];

	fill();
	tell_real(1, "odd", -INFINITY);
	tell_real(1, "odd", NAN);
	write_profile();
	cleanup(profile) struct profile *p = profile_read(path, &err);
	cr_assert(p != NULL, "%s", err.text);
	snprintf(before, sizeof(before), "%s", text_of(f.profile, &everything));
	EXPECT(p, &everything, before);
	cr_assert(profile_write(p, path, &err) == 0, "%s", err.text);
	cleanup(profile) struct profile *again = profile_read(path, &err);
	cr_assert(again != NULL, "%s", err.text);
	EXPECT(again, &everything, before);
}

static void change(const char *sql)
{
	sqlite3 *db = NULL;

	cr_assert(sqlite3_open(path, &db) == SQLITE_OK);
	cr_assert(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK, "%s: %s", sql,
	          sqlite3_errmsg(db));
	sqlite3_close(db);
}

Test(query_counters, damage_is_refused)
{
	static const char *const changes[] = {
		"UPDATE counter_sum SET op = 77",
		"UPDATE counter_sum SET thread = 0",
		"UPDATE counter_sum SET changes = -1",
		"UPDATE counter_sum SET min = max + 1",
		"UPDATE counter_sum SET last = NULL",
		"UPDATE counter_sum SET sum = sum + 1",
		"UPDATE counter_sum SET last_ns = -1",
		"DELETE FROM counter_sum",
		"DROP VIEW counter; DROP TABLE counter_sum",
		"INSERT INTO counter_sum SELECT * FROM counter_sum",
		"UPDATE run SET value = 0 WHERE key = 'counters'",
		"UPDATE run SET value = 1 << 40 WHERE key = 'counters'",
		"UPDATE run SET value = -1 WHERE key = 'counters_lost'",
	};

	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		struct error err = { 0 };
		if (i == 0)
			fill();
		write_profile();
		change(changes[i]);
		cr_expect(profile_read(path, &err) == NULL, "%s", changes[i]);
		cr_expect(strstr(err.text, path) != NULL, "%s: %s", changes[i], err.text);
	}
}

Test(query_counters, people_can_ask_in_sql)
{
	sqlite3 *db = NULL;
	sqlite3_stmt *select = NULL;

	fill();
	write_profile();
	cr_assert(sqlite3_open(path, &db) == SQLITE_OK);
	cr_assert(sqlite3_prepare_v2(db,
	                             "SELECT max, average FROM counter WHERE name = 'load' AND "
	                             "domain = 'io' AND tid = 101",
	                             -1, &select, NULL) == SQLITE_OK);
	cr_assert(sqlite3_step(select) == SQLITE_ROW);
	cr_expect(epsilon_eq(dbl, sqlite3_column_double(select, 0), 2.5, 0));
	cr_expect(epsilon_eq(dbl, sqlite3_column_double(select, 1), 1.375, 0));
	sqlite3_finalize(select);
	sqlite3_close(db);
}
