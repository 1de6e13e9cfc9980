// SPDX-License-Identifier: MIT
#include "merge/query/query_warmup.h"

#include "base/error.h"
#include "merge/profile/profile_parts.h"
#include "merge/table/series.h"
#include "tests/unit/merge_fixture.h"

#include <criterion/criterion.h>
#include <sqlite3.h>
#include <unistd.h>

static struct fixture f;
static char path[64];

static void begin(void)
{
	fixture_init(&f, NULL);
	snprintf(path, sizeof(path), "/tmp/warmup-%d.bneck", (int)getpid());
}

static void end(void)
{
	unlink(path);
	fixture_fini(&f);
}

TestSuite(query_warmup, .init = begin, .fini = end);

// A call of NAME, in PARENT (NULL: none), for MS ms, now; OWN ms of it are its own.
static void call_in(const char *name, const char *parent, uint64_t ms, uint64_t own)
{
	profile_add_op(f.profile, &(struct op_event){ .thread = 1,
	                                              .op = op_called(&f, name),
	                                              .parent = parent ? op_called(&f, parent) : 0,
	                                              .begin_ns = f.now_ns,
	                                              .end_ns = f.now_ns + ms * MS,
	                                              .self_ns = own * MS });
}

static void call(const char *name, uint64_t ms)
{
	call_in(name, NULL, ms, ms);
	f.now_ns += ms * MS;
}

static void calls(const char *name, unsigned count, uint64_t ms)
{
	while (count--)
		call(name, ms);
}

static struct warmup_rows *warmup_of(const struct profile *p, uint64_t from_ns)
{
	struct error err = { 0 };
	struct warmup_rows *rows = query_warmup(p, &(struct query){ .from_ns = from_ns }, &err);

	cr_assert(rows != NULL, "%s", err.text);
	return rows;
}

static void finish(void)
{
	const struct run run = { .start_ns = 1000 * MS,
		                 .wall_ns = f.now_ns - 1000 * MS,
		                 .command = "app" };

	struct error err = { 0 };

	cr_assert(profile_set_run(f.profile, &run, &err) == 0, "%s", err.text);
}

static void fill(void)
{
	calls("cold", 3, 300);
	calls("cold", 40, 20);
	calls("warm", 40, 10);
	finish();
}

Test(query_warmup, slow_first_calls)
{
	fill();
	cleanup(warmup_rows) struct warmup_rows *rows = warmup_of(f.profile, 0);
	cr_expect_eq(rows->verdict, WARMUP_INCLUDED);
	cr_assert_eq(rows->count, 1);
	cr_expect_str_eq(rows->rows[0].name, "cold");
	cr_expect_eq(rows->rows[0].calls, 43);
	cr_expect_eq(rows->rows[0].judged.calls, 3);
	cr_expect_eq(rows->rows[0].slow_ns, 900 * MS);
	cr_expect_eq(rows->rows[0].excess_ns, 840 * MS);
	cr_expect_eq(rows->excess_ns, 840 * MS);
	cr_expect_eq(rows->ops_ns, 2100 * MS);
	cr_expect_eq(rows->steady_ns, 900 * MS);
}

Test(query_warmup, none_is_left_behind_it)
{
	fill();
	cleanup(warmup_rows) struct warmup_rows *rows = warmup_of(f.profile, 900 * MS);
	cr_expect_eq(rows->verdict, WARMUP_NONE);
	cr_expect_eq(rows->count, 0);
	cr_expect_geq(rows->ops_ns, 1150 * MS); // bins of 10 ms
	cr_expect_leq(rows->ops_ns, 1250 * MS);
}

// What an op took lies within the op around it, and counts once.
Test(query_warmup, nested)
{
	for (int i = 0; i < 30; i++) {
		uint64_t ms = i < 2 ? 500 : 10;
		call_in("forward", "step", ms, ms);
		call_in("step", NULL, ms + 5, 5);
		f.now_ns += (ms + 5) * MS;
	}
	finish();
	cleanup(warmup_rows) struct warmup_rows *rows = warmup_of(f.profile, 0);
	cr_assert_eq(rows->count, 2);
	cr_expect_eq(rows->verdict, WARMUP_INCLUDED);
	cr_expect_eq(rows->excess_ns, 980 * MS);
	cr_expect_eq(rows->rows[0].nested + rows->rows[1].nested, 1);
}

// The label around it is told first, though all of what it took longer was in the library.
Test(query_warmup, a_label_goes_before_what_is_in_it)
{
	for (int i = 0; i < 30; i++) {
		uint64_t ms = i < 2 ? 500 : 10;
		call_in("convolution", "step", ms, ms);
		f.now_ns += 5 * MS;
		call_in("step", NULL, ms, 0);
		f.now_ns += ms * MS;
	}
	finish();
	cleanup(warmup_rows) struct warmup_rows *rows = warmup_of(f.profile, 0);
	cr_assert_eq(rows->count, 2);
	cr_expect_str_eq(rows->rows[0].name, "step");
	cr_expect(rows->rows[0].labelled);
	cr_expect(!rows->rows[0].nested);
	cr_expect(rows->rows[1].nested);
}

// A small op, or a small part of the run, is not worth a word.
Test(query_warmup, small)
{
	calls("small", 1, 15);
	calls("small", 20, 0);
	calls("large", 50, 100);
	finish();
	cleanup(warmup_rows) struct warmup_rows *rows = warmup_of(f.profile, 0);
	cr_expect_eq(rows->verdict, WARMUP_NONE);
}

Test(query_warmup, too_short)
{
	calls("step", 3, 300);
	calls("step", 3, 20);
	finish();
	cleanup(warmup_rows) struct warmup_rows *rows = warmup_of(f.profile, 0);
	cr_expect_eq(rows->verdict, WARMUP_TOO_SHORT);
}

Test(query_warmup, too_few)
{
	call("load", 300);
	call("solve", 400);
	finish();
	cleanup(warmup_rows) struct warmup_rows *rows = warmup_of(f.profile, 0);
	cr_expect_eq(rows->verdict, WARMUP_NONE);
	cr_expect(rows->too_few);
}

Test(query_warmup, trends)
{
	for (uint64_t i = 0; i < 60; i++)
		call("slower", 100 + 5 * i);
	finish();
	cleanup(warmup_rows) struct warmup_rows *rows = warmup_of(f.profile, 0);
	cr_expect_eq(rows->verdict, WARMUP_SLOWS_DOWN);
	cr_expect_eq(rows->count, 1);
}

Test(query_warmup, no_ops)
{
	f.now_ns += 1000 * MS;
	finish();
	cleanup(warmup_rows) struct warmup_rows *rows = warmup_of(f.profile, 0);
	cr_expect_eq(rows->verdict, WARMUP_NONE);
	cr_expect_not(rows->too_few);
	cr_expect(rows->unseen);
}

Test(query_warmup, ops_that_are_next_to_nothing_tell_nothing)
{
	for (uint64_t ms = 19; ms <= 21; ms += 2) {
		fixture_fini(&f);
		fixture_init(&f, NULL);
		calls("step", 10, ms);
		f.now_ns += (2000 - 10 * ms) * MS;
		finish();
		cleanup(warmup_rows) struct warmup_rows *rows = warmup_of(f.profile, 0);
		cr_expect_eq(rows->unseen, ms < 20, "%lu ms", (unsigned long)ms);
	}
}

// More calls than are kept one by one, and more than the rule is shown.
Test(query_warmup, long_series)
{
	calls("op", 5, 4000);
	calls("op", 30000, 1);
	finish();
	cleanup(warmup_rows) struct warmup_rows *rows = warmup_of(f.profile, 0);
	cr_expect_eq(rows->verdict, WARMUP_INCLUDED);
	cr_assert_eq(rows->count, 1);
	cr_expect_eq(rows->rows[0].calls, 30005);
	cr_expect_eq(rows->rows[0].judged.calls, 5);
	cr_expect_eq(rows->excess_ns, 5 * 3999 * MS);
}

static void write_profile(void)
{
	struct error err = { 0 };

	name_all(&f);
	cr_assert(profile_write(f.profile, path, &err) == 0, "%s", err.text);
}

Test(query_warmup, the_same_from_a_file)
{
	struct error err = { 0 };

	fill();
	calls("long", 3000, 1);
	finish();
	write_profile();
	cleanup(profile) struct profile *p = profile_read(path, &err);
	cr_assert(p != NULL, "%s", err.text);
	cleanup(warmup_rows) struct warmup_rows *before = warmup_of(f.profile, 0);
	cleanup(warmup_rows) struct warmup_rows *after = warmup_of(p, 0);
	cr_expect_eq(after->verdict, WARMUP_INCLUDED);
	cr_expect_eq(after->excess_ns, before->excess_ns);
	cr_expect_eq(after->steady_ns, before->steady_ns);
	cr_expect_eq(profile_series(p)->count, profile_series(f.profile)->count);
	for (uint32_t i = 0; i < profile_series(p)->count; i++) {
		const struct series *is = &profile_series(p)->series[i],
				    *was = &profile_series(f.profile)->series[i];
		cr_assert_eq(is->count, was->count);
		cr_expect_eq(is->calls, was->calls);
		cr_expect_eq(is->block_calls, was->block_calls);
		cr_expect_arr_eq(is->items, was->items, is->count * sizeof(*is->items));
	}
}

static void change(const char *sql)
{
	sqlite3 *db = NULL;

	cr_assert(sqlite3_open(path, &db) == SQLITE_OK);
	cr_assert(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK, "%s: %s", sql,
	          sqlite3_errmsg(db));
	sqlite3_close(db);
}

Test(query_warmup, damage_is_refused)
{
	static const char *const changes[] = {
		"UPDATE series SET op = 77",
		"UPDATE series SET process = 0",
		"UPDATE series SET calls = 0",
		"UPDATE series SET calls = -1",
		"UPDATE series SET calls = calls + 1",
		"UPDATE series SET block_calls = 0",
		"UPDATE series SET calls = 1 << 40",
		"DELETE FROM series",
		"DELETE FROM series_chunk",
		"DROP TABLE series",
		"UPDATE run SET value = 0 WHERE key = 'series'",
		"UPDATE run SET value = 1 << 40 WHERE key = 'series'",
		"UPDATE run SET value = -1 WHERE key = 'series_lost'",
	};

	fill();
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		struct error err = { 0 };
		write_profile();
		change(changes[i]);
		cr_expect(profile_read(path, &err) == NULL, "%s", changes[i]);
		cr_expect(strstr(err.text, path) != NULL, "%s: %s", changes[i], err.text);
	}
}

// Of ops that tell when steps begin, but take little of them, warm-up is seen in the steps.
Test(query_warmup, steps_from_one_call_to_the_next)
{
	for (int i = 0; i < 40; i++) {
		call("mark", 1);
		f.now_ns += (i < 2 ? 400 : 9) * MS;
	}
	finish();
	cleanup(warmup_rows) struct warmup_rows *rows = warmup_of(f.profile, 0);
	cr_expect_eq(rows->verdict, WARMUP_INCLUDED);
	cr_assert_eq(rows->count, 1);
	cr_expect_eq(rows->rows[0].kind, WARMUP_STEPS);
	cr_expect_str_eq(rows->rows[0].name, "mark");
	cr_expect_eq(rows->rows[0].calls, 39);
	cr_expect_eq(rows->rows[0].judged.calls, 2);
	cr_expect_eq(rows->rows[0].excess_ns, 2 * 391 * MS);
	cr_expect_eq(rows->steady_ns, 802 * MS);
}

// An op within slow steps is no warm-up beside theirs.
Test(query_warmup, what_is_slow_within_steps_counts_once)
{
	for (int i = 0; i < 40; i++) {
		call("mark", i < 2 ? 40 : 1);
		f.now_ns += (i < 2 ? 400 : 9) * MS;
	}
	finish();
	cleanup(warmup_rows) struct warmup_rows *rows = warmup_of(f.profile, 0);
	cr_assert_eq(rows->count, 2);
	cr_expect_eq(rows->excess_ns, 2 * 430 * MS);
	cr_expect_eq(rows->rows[0].kind, WARMUP_STEPS);
	cr_expect(rows->rows[1].nested);
}

static void samples(uint64_t ms, const char *stack)
{
	for (; ms > 0; ms--, f.now_ns += MS)
		add(&f, 1, METRIC_ON_CPU, 1, stack);
}

// Without any op the samples tell of a loop.
Test(query_warmup, turns_of_a_loop)
{
	for (int i = 0; i < 20; i++) {
		samples(i ? 6 : 120, "main a.c:7 > load a.c:40");
		samples(12, "main a.c:9 > work a.c:50");
	}
	name_all(&f);
	finish();
	cleanup(warmup_rows) struct warmup_rows *rows = warmup_of(f.profile, 0);
	cr_expect_eq(rows->verdict, WARMUP_INCLUDED);
	cr_assert_eq(rows->count, 1);
	cr_expect_eq(rows->rows[0].kind, WARMUP_TURNS);
	cr_expect_str_eq(rows->rows[0].name, "main");
	cr_expect_eq(rows->rows[0].line, 7);
	cr_expect_eq(rows->rows[0].judged.calls, 1);
	cr_expect_eq(rows->steady_ns, 132 * MS);
}

// A library may be called once to set something up, and later in a loop.
Test(query_warmup, what_lies_between_calls_of_a_library_is_not_told)
{
	const struct op *op = ops_add(f.ops, &(struct op){ .provider = OP_BLAS,
	                                                   .domain = "",
	                                                   .category = "",
	                                                   .name = "cblas_dgemm" });

	for (int i = 0; i < 40; i++) {
		profile_add_op(f.profile, &(struct op_event){ .thread = 1,
		                                              .op = op->id,
		                                              .begin_ns = f.now_ns,
		                                              .end_ns = f.now_ns + MS,
		                                              .self_ns = MS });
		f.now_ns += (i < 1 ? 150 : 9) * MS;
	}
	finish();
	cleanup(warmup_rows) struct warmup_rows *rows = warmup_of(f.profile, 0);
	cr_expect_eq(rows->verdict, WARMUP_NONE);
	cr_expect_eq(rows->steady_ns, 0);
}

// The call I of 60 works for WORK ms and waits for a CPU for WAIT ms.
static void crowded(unsigned (*work)(unsigned i), unsigned (*wait)(unsigned i))
{
	for (unsigned i = 0; i < 60; i++) {
		uint64_t begin_ns = f.now_ns;
		add(&f, 1, METRIC_ON_CPU, work(i), "main a.c:3 > step a.c:9");
		if (wait(i))
			add(&f, 1, METRIC_OFF_RUNNABLE, wait(i), "main a.c:3 > step a.c:9");
		f.now_ns = begin_ns + (work(i) + wait(i)) * MS;
		profile_add_op(f.profile, &(struct op_event){ .thread = 1,
		                                              .op = op_called(&f, "step"),
		                                              .begin_ns = begin_ns,
		                                              .end_ns = f.now_ns,
		                                              .self_ns = f.now_ns - begin_ns });
	}
	finish();
}

static unsigned nothing(unsigned i)
{
	return 0 * i;
}

static unsigned ten(unsigned i)
{
	return 10 + 0 * i;
}

static unsigned grows(unsigned i)
{
	return 10 + i / 4;
}

static unsigned shrinks(unsigned i)
{
	return 20 - i / 6;
}

static unsigned grows_from_nothing(unsigned i)
{
	return i / 4;
}

static unsigned grows_fast(unsigned i)
{
	return i / 2;
}

static enum warmup_verdict verdict_of(unsigned (*work)(unsigned i), unsigned (*wait)(unsigned i))
{
	crowded(work, wait);
	cleanup(warmup_rows) struct warmup_rows *rows = warmup_of(f.profile, 0);
	return rows->verdict;
}

Test(query_warmup, work_that_grows_slows_down)
{
	cr_expect_eq(verdict_of(grows, nothing), WARMUP_SLOWS_DOWN);
}

Test(query_warmup, others_that_take_the_cpu_more_and_more_are_no_verdict)
{
	cr_expect_eq(verdict_of(ten, grows_from_nothing), WARMUP_NONE);
}

// The calls became shorter, and yet took longer.
Test(query_warmup, work_that_shrinks_while_others_take_the_cpu_does_not_slow_down)
{
	cr_expect_eq(verdict_of(shrinks, grows_fast), WARMUP_NONE);
}

// Who waits for a CPU most of the time has trends of others.
Test(query_warmup, a_crowded_machine_has_no_verdict)
{
	cr_expect_eq(verdict_of(grows, grows), WARMUP_NONE);
}
