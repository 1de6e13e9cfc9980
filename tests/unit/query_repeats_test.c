// SPDX-License-Identifier: MIT
#include "merge/query/query_repeats.h"

#include "base/error.h"
#include "merge/profile/profile.h"
#include "merge/profile/repeats.h"
#include "tests/support/expect.h"
#include "tests/unit/merge_fixture.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

static struct fixture f;
static char path[64];

static void begin(void)
{
	fixture_init(&f, NULL);
	snprintf(path, sizeof(path), "/tmp/repeats-%d.bneck", (int)getpid());
}

static void end(void)
{
	unlink(path);
	fixture_fini(&f);
}

TestSuite(query_repeats, .init = begin, .fini = end);

static void run(uint32_t side, uint64_t wall_ns, int status)
{
	const struct repeat repeat = { .side = side,
		                       .status = status,
		                       .wall_ns = wall_ns,
		                       .user_ns = wall_ns / 2,
		                       .system_ns = wall_ns / 4,
		                       .peak_rss_bytes = 1 << 20 };

	cr_assert(profile_add_repeat(f.profile, &repeat));
}

static void runs(uint32_t side, const uint64_t *walls, size_t count)
{
	for (size_t i = 0; i < count; i++)
		run(side, walls[i], 0);
}

static struct repeat_rows *rows_of(const struct profile *p)
{
	struct error err;
	struct repeat_rows *rows = query_repeats(p, &err);

	cr_assert(ne(ptr, rows, NULL), "%s", err.text);
	return rows;
}

Test(query_repeats, a_profile_of_one_run_has_none)
{
	cleanup(repeat_rows) struct repeat_rows *rows = rows_of(f.profile);

	cr_expect(eq(sz, rows->count, 0));
}

Test(query_repeats, only_runs_that_succeeded_count)
{
	uint32_t side = profile_add_repeat_side(f.profile, "./app", NULL, 0);
	const uint64_t walls[] = { 100, 200, 300 };

	runs(side, walls, 3);
	run(side, 9000, 1 << 8);
	cleanup(repeat_rows) struct repeat_rows *rows = rows_of(f.profile);
	cr_assert(eq(sz, rows->count, 1));
	cr_expect(eq(str, (char *)rows->rows[0].command, "./app"));
	cr_expect(eq(ptr, (void *)rows->rows[0].range, NULL));
	cr_expect(eq(u32, rows->rows[0].runs, 3));
	cr_expect(eq(u32, rows->rows[0].failed, 1));
	cr_expect(eq(dbl, rows->rows[0].spread[REPEAT_WALL].median, 200));
	cr_expect(eq(dbl, rows->rows[0].spread[REPEAT_USER].median, 100));
	cr_expect(eq(dbl, rows->rows[0].spread[REPEAT_PEAK_RSS].max, 1 << 20));
}

Test(query_repeats, a_slow_first_run_is_seen_by_the_others)
{
	uint32_t slow = profile_add_repeat_side(f.profile, "slow first", NULL, 0);
	uint32_t fast = profile_add_repeat_side(f.profile, "fast first", NULL, 0);
	const uint64_t walls[] = { 500, 101, 99, 100, 102, 98 };
	const uint64_t steady[] = { 40, 101, 99, 100, 102, 98 };

	runs(slow, walls, 6);
	runs(fast, steady, 6);
	cleanup(repeat_rows) struct repeat_rows *rows = rows_of(f.profile);
	cr_expect(rows->rows[0].slow_first);
	cr_expect(eq(dbl, rows->rows[0].first, 500));
	cr_expect(not(rows->rows[1].slow_first));
}

// The machine gets slower and slower: the medians of the two differ by chance, the pairs do not.
Test(query_repeats, sides_are_compared_in_pairs)
{
	uint32_t a = profile_add_repeat_side(f.profile, "a", NULL, 0);
	uint32_t b = profile_add_repeat_side(f.profile, "b", NULL, 0);
	struct spread ratio;
	struct error err;

	for (uint64_t i = 0; i < 8; i++) {
		run(a, 1000 << i, 0);
		run(b, 1100 << i, 0);
	}
	cr_assert(query_repeat_ratio(f.profile, a, b, &ratio, &err) == 0);
	cr_expect(eq(sz, ratio.count, 8));
	cr_expect(ieee_ulp_eq(dbl, ratio.low, 1.1, 8));
	cr_expect(ieee_ulp_eq(dbl, ratio.high, 1.1, 8));
}

Test(query_repeats, a_range_has_the_times_of_its_calls)
{
	uint32_t side = profile_add_repeat_side(f.profile, "./app", "step*", 0);
	const struct repeat with = {
		.side = side, .wall_ns = 90, .calls = 3, .calls_ns = 30, .call_ns = 10
	};
	const struct repeat without = { .side = side, .wall_ns = 90 };

	cr_assert(profile_add_repeat(f.profile, &with));
	cr_assert(profile_add_repeat(f.profile, &without));
	cleanup(repeat_rows) struct repeat_rows *rows = rows_of(f.profile);
	cr_expect(eq(str, (char *)rows->rows[0].range, "step*"));
	cr_expect(eq(u64, rows->rows[0].calls, 3));
	cr_expect(eq(sz, rows->rows[0].spread[REPEAT_CALL].count, 1));
	cr_expect(eq(dbl, rows->rows[0].spread[REPEAT_CALL].median, 10));
	cr_expect(eq(sz, rows->rows[0].spread[REPEAT_WALL].count, 2));
}

Test(query_repeats, the_file_keeps_all_of_it)
{
	uint32_t a = profile_add_repeat_side(f.profile, "a", NULL, 0);
	uint32_t b = profile_add_repeat_side(f.profile, "b", "r*", 0);
	const struct repeat full = { .side = b,
		                     .status = 9,
		                     .begin_ns = 1,
		                     .wall_ns = 2,
		                     .user_ns = 3,
		                     .system_ns = 4,
		                     .peak_rss_bytes = 5,
		                     .calls = 6,
		                     .calls_ns = 7,
		                     .call_ns = 8 };
	struct error err;

	run(a, 123456789, 0);
	cr_assert(profile_add_repeat(f.profile, &full));
	cr_assert(profile_write(f.profile, path, &err) == 0, "%s", err.text);
	cleanup(profile) struct profile *read = profile_read(path, &err);
	cr_assert(ne(ptr, read, NULL), "%s", err.text);
	cleanup(repeat_rows) struct repeat_rows *rows = rows_of(read);
	cr_assert(eq(sz, rows->count, 2));
	cr_expect(eq(dbl, rows->rows[0].spread[REPEAT_WALL].median, 123456789));
	cr_expect(eq(str, (char *)rows->rows[1].range, "r*"));
	cr_expect(eq(u32, rows->rows[1].failed, 1));
}

Test(query_repeats, a_call_of_a_statement_has_parts_of_a_nanosecond_in_the_file_too)
{
	const struct repeat_statement statement = { .code = "x + 1",
		                                    .setup = "x = 3",
		                                    .variant = "n = 64",
		                                    .language = REPEAT_PYTHON,
		                                    .threads = 2 };
	uint32_t side = profile_add_statement_side(f.profile, &statement);
	const struct run facts = { .start_ns = 1, .wall_ns = 100 };
	struct error err;

	for (uint64_t i = 0; i < 7; i++) {
		const struct repeat block = { .side = side,
			                      .wall_ns = 1250 + i,
			                      .calls = 100,
			                      .calls_ns = 1250 + i,
			                      .call_ns = 12 };
		cr_assert(profile_add_repeat(f.profile, &block));
	}
	cr_assert(profile_set_run(f.profile, &facts, NULL) == 0);
	cr_assert(eq(int, profile_write(f.profile, path, &err), 0), "%s", err.text);
	struct profile *again = profile_read(path, &err);
	cr_assert(ne(ptr, again, NULL), "%s", err.text);
	struct repeat_rows *rows = rows_of(again);
	const struct repeat_row *row = &rows->rows[0];
	cr_expect(eq(str, (char *)row->command, "x + 1"));
	cr_expect(eq(str, (char *)row->setup, "x = 3"));
	cr_expect(eq(str, (char *)row->variant, "n = 64"));
	cr_expect(eq(int, row->language, REPEAT_PYTHON));
	cr_expect(eq(u32, row->threads, 2));
	cr_expect(eq(int, repeat_metric_of(row), REPEAT_CALL));
	cr_expect(ieee_ulp_eq(dbl, row->spread[REPEAT_CALL].median, 12.53, 4));
	repeat_rows_free(rows);
	profile_free(again);
}

Test(query_repeats, what_a_range_costs_is_known_as_far_as_in_all_of_its_runs)
{
	static const struct repeat first[] = {
		{ .side = 1, .calls = 1, .call_ns = 9, .cost_ns = 30, .cost = REPEAT_COST_WHOLE },
		{ .side = 1, .calls = 1, .call_ns = 9, .cost_ns = 34, .cost = REPEAT_COST_PART },
		{ .side = 1, .calls = 1, .call_ns = 9, .cost_ns = 50, .cost = REPEAT_COST_WHOLE },
		{ .side = 1, .status = 1, .cost = REPEAT_COST_UNKNOWN },
		{ .side = 2, .calls = 1, .call_ns = 9 },
	};
	cr_assert(profile_add_repeat_side(f.profile, "a", "range", 0) == 1);
	cr_assert(profile_add_repeat_side(f.profile, "b", "range", 0) == 2);
	for (size_t i = 0; i < sizeof(first) / sizeof(*first); i++)
		cr_assert(profile_add_repeat(f.profile, &first[i]));
	cleanup(repeat_rows) struct repeat_rows *rows = rows_of(f.profile);
	cr_expect(eq(u64, rows->rows[0].cost_ns, 34));
	cr_expect(eq(int, rows->rows[0].cost, REPEAT_COST_PART));
	cr_expect(eq(int, rows->rows[1].cost, REPEAT_COST_UNKNOWN));
	struct error err = { 0 };
	cr_assert(eq(int, profile_write(f.profile, path, &err), 0), "%s", err.text);
	cleanup(profile) struct profile *read = profile_read(path, &err);
	cr_assert(read != NULL, "%s", err.text);
	cleanup(repeat_rows) struct repeat_rows *again = rows_of(read);
	cr_expect(eq(u64, again->rows[0].cost_ns, 34));
	cr_expect(eq(int, again->rows[0].cost, REPEAT_COST_PART));
}
