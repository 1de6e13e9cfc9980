// SPDX-License-Identifier: MIT
// Code ranks by what the end of the run waited for.
#include "merge/query/query_wall.h"

#include "base/record.h"
#include "base/sampled.h"
#include "merge/query/query_waits.h"
#include "merge/scope/kept.h"
#include "tests/support/expect.h"
#include "tests/unit/merge_fixture.h"

static struct fixture f;

// The main thread computes for 400 ms, and then waits for 600 ms: if KNOWN for the other one, which
// computes all the time, and else that ends before.
static void wait_for_other(bool known)
{
	const struct wait_share by = { 2000 * MS, 2, HELD_BY_OWNER };
	const struct wait_event wait = { .thread = 1,
		                         .begin_ns = 1400 * MS,
		                         .end_ns = 2000 * MS,
		                         .address = 0x1000,
		                         .kind = HELD_MUTEX,
		                         .count = 1,
		                         .parts = &by };

	fixture_init(&f, NULL);
	add_thread(&f, 2, 1, 102, "other");
	add_span(&f, 1, 1000, 1000, THREAD_READY, THREAD_RUNS);
	add_span(&f, 2, 1000, 1000, THREAD_READY, THREAD_RUNS);
	for (uint64_t ms = 1000; ms < 2000; ms += 10) {
		f.now_ns = (ms + 5) * MS;
		if (ms < 1400)
			add(&f, 1, METRIC_ON_CPU, 10, "main a.c:3 > work a.c:9");
		if (ms == 1400)
			add_span(&f, 1, 1000, 1400, THREAD_RUNS, THREAD_BLOCKED);
		if (ms == 1390 && !known) {
			add_span(&f, 2, 1000, 1390, THREAD_RUNS, THREAD_BLOCKED);
			profile_end_thread(f.profile,
			                   &(struct thread_end){ 2, 1390 * MS, .exact = false });
		}
		if (ms < 1390 || known)
			add(&f, 2, METRIC_ON_CPU, 10, "run a.c:20 > hold a.c:18");
	}
	f.now_ns = 1400 * MS;
	add(&f, 1, METRIC_OFF_LOCK, 600, "main a.c:3 > save a.c:31 > pthread_mutex_lock@libc");
	add_span(&f, 1, 1400, 2000, THREAD_BLOCKED, THREAD_RUNS);
	if (known)
		profile_take(f.profile, &(struct sampled){ .kind = SAMPLED_WAIT, .wait = &wait });
	profile_end_wall(f.profile, 2000 * MS);
	name_all(&f);
}

static void fini(void)
{
	fixture_fini(&f);
}

static struct wall_account account_of(const struct query *query)
{
	struct wall_account account;

	cr_assert(query_wall_account(f.profile, query, &account, NULL) == 0);
	return account;
}

static const struct row *row_called(const struct rows *rows, const char *name)
{
	for (size_t i = 0; i < rows->count; i++)
		if (strcmp(rows->rows[i].name, name) == 0)
			return &rows->rows[i];
	cr_fatal("no row %s", name);
}

TestSuite(query_wall, .fini = fini);

Test(query_wall, a_wait_that_is_resolved_has_no_wall_time)
{
	const struct query query = { .sort = SORT_WALL, .with_wall = true };

	wait_for_other(true);
	cleanup(rows) struct rows *rows = query_run(f.profile, &query, NULL);
	cr_expect(eq(u64, rows->wall_all_ns, 1000 * MS));
	cr_expect(eq(str, (char *)rows->rows[0].name, "hold"));
	cr_expect(epsilon_eq(dbl, (double)rows->rows[0].wall_self_ns, 600.0 * MS, 10.0 * MS));
	cr_expect(eq(u64, rows->rows[0].self, 1000 * MS));
	const struct row *main = row_called(rows, "main");
	cr_expect(epsilon_eq(dbl, (double)main->wall_total_ns, 400.0 * MS, 10.0 * MS));
	cr_expect(eq(u64, main->wall_self_ns, 0));
	const struct row *lock = row_called(rows, "pthread_mutex_lock");
	cr_expect(le(u64, lock->wall_self_ns, 10 * MS));
	cr_expect(eq(u64, lock->self, 600 * MS));
}

Test(query_wall, rows_have_none_unless_it_is_asked_for)
{
	wait_for_other(true);
	cleanup(rows) struct rows *rows = query_run(f.profile, &(struct query){ 0 }, NULL);
	cr_expect(eq(u64, rows->wall_all_ns, 0));
	cr_expect(eq(u64, row_called(rows, "hold")->wall_self_ns, 0));
}

Test(query_wall, code_ranks_by_it_where_most_waits_are_resolved)
{
	wait_for_other(true);
	struct wall_account account = account_of(&(struct query){ 0 });
	cr_expect(account.ranks);
	cr_expect(eq(u64, account.all_ns, 1000 * MS));
	cr_expect(epsilon_eq(dbl, (double)account.ns[METRIC_ON_CPU], 1000.0 * MS, 10.0 * MS));
	cr_expect(not(account_of(&(struct query){ .thread = "other" }).ranks));
	cr_expect(not(account_of(&(struct query){ .on_cpu = true }).ranks));
}

Test(query_wall, code_does_not_rank_by_it_where_who_was_waited_for_is_unknown)
{
	wait_for_other(false);
	struct wall_account account = account_of(&(struct query){ 0 });
	cr_expect(eq(u64, account.ns[METRIC_OFF_LOCK], 600 * MS));
	cr_expect(not(account.ranks));
}

Test(query_wall, in_a_run_of_one_thread_all_orders_are_the_same)
{
	fixture_init(&f, NULL);
	add_span(&f, 1, 1000, 1000, THREAD_READY, THREAD_RUNS);
	for (uint64_t ms = 1000; ms < 2000; ms += 10) {
		f.now_ns = (ms + 5) * MS;
		add(&f, 1, METRIC_ON_CPU, 10, "main a.c:3 > work a.c:9");
	}
	add_span(&f, 1, 1000, 2000, THREAD_RUNS, THREAD_READY);
	profile_end_wall(f.profile, 2000 * MS);
	name_all(&f);
	struct wall_account account = account_of(&(struct query){ 0 });
	cr_expect(eq(u64, account.all_ns, 1000 * MS));
	cr_expect(not(account.ranks));
}

// The main thread has waited for a mutex of thread OWNER; 0: nobody knows whose.
static void report_wait(uint64_t from_ms, uint64_t to_ms, uint32_t owner)
{
	const struct wait_share by = { to_ms * MS, owner, HELD_BY_OWNER };
	const struct wait_event wait = { .thread = 1,
		                         .begin_ns = from_ms * MS,
		                         .end_ns = to_ms * MS,
		                         .address = 0x1000,
		                         .kind = HELD_MUTEX,
		                         .count = 1,
		                         .parts = &by };

	profile_take(f.profile, &(struct sampled){ .kind = SAMPLED_WAIT, .wait = &wait });
}

// The main thread waits for the same mutex twice, for 400 and for 200 ms. In truth the same thread
// holds it both times, but of the second that is not known; or of the first it was inferred.
static void wait_twice(bool known, bool inferred)
{
	const uint64_t from_ms[] = { 1200, 1700 }, to_ms[] = { 1600, 1900 };

	fixture_init(&f, NULL);
	add_thread(&f, 2, 1, 102, "other");
	add_span(&f, 1, 1000, 1000, THREAD_READY, THREAD_RUNS);
	add_span(&f, 2, 1000, 1000, THREAD_READY, THREAD_RUNS);
	for (uint64_t ms = 1000; ms < 2000; ms += 10) {
		bool waits = (ms >= 1200 && ms < 1600) || (ms >= 1700 && ms < 1900);
		f.now_ns = (ms + 5) * MS;
		if (!waits)
			add(&f, 1, METRIC_ON_CPU, 10, "main a.c:3 > work a.c:9");
		add(&f, 2, METRIC_ON_CPU, 10, "run a.c:20 > hold a.c:18");
	}
	for (size_t i = 0; i < 2; i++) {
		bool is_known = i == 0 || known;
		add_span(&f, 1, i ? to_ms[0] : 1000, from_ms[i], THREAD_RUNS, THREAD_BLOCKED);
		f.now_ns = from_ms[i] * MS;
		add(&f, 1, METRIC_OFF_LOCK, to_ms[i] - from_ms[i],
		    "main a.c:3 > save a.c:31 > pthread_mutex_lock@libc");
		add_span(&f, 1, from_ms[i], to_ms[i], THREAD_BLOCKED, THREAD_RUNS);
		if (!inferred)
			report_wait(from_ms[i], to_ms[i], is_known ? 2 : 0);
	}
	profile_end_wall(f.profile, 2000 * MS);
	name_all(&f);
	const struct run run = {
		.wall_ns = 1000 * MS, .command = "app", .samples = 140, .off_cpu_exact = true
	};
	cr_assert(profile_set_run(f.profile, &run, NULL) == 0);
}

Test(query_wall, the_range_of_a_wait_has_the_planted_truth)
{
	static const struct {
		bool known, inferred;
		uint64_t found_ms, low_ms, high_ms;
	} cases[] = {
		{ true, false, 600, 580, 620 },
		{ false, false, 400, 370, 630 },
		{ true, true, 600, 580, 620 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		wait_twice(cases[i].known, cases[i].inferred);
		cleanup(wait_rows) struct wait_rows *waits = query_waits(f.profile, 0, 0, NULL);
		const struct wait_row *row = &waits->rows[0];
		cr_expect(eq(str, (char *)row->holder.function, "hold"));
		cr_expect(
			epsilon_eq(dbl, (double)row->wall_ns / MS, (double)cases[i].found_ms, 10));
		cr_expect(epsilon_eq(dbl, (double)row->wall_low_ns / MS, (double)cases[i].low_ms,
		                     20));
		cr_expect(epsilon_eq(dbl, (double)row->wall_high_ns / MS, (double)cases[i].high_ms,
		                     20));
		fixture_fini(&f);
	}
	fixture_init(&f, NULL);
}

// Of 30 s: 1 s for a lock at one place, and MS at another one.
static size_t rows_of_waits(uint64_t ms, uint64_t *count)
{
	const uint64_t from_ms[] = { 2000, 5000 }, to_ms[] = { 3000, 5000 + ms };
	static const char *const places[] = { "main a.c:3 > save a.c:31",
		                              "main a.c:3 > work a.c:9" };

	fixture_init(&f, NULL);
	add_thread(&f, 2, 1, 102, "other");
	add_span(&f, 1, 1000, 1000, THREAD_READY, THREAD_RUNS);
	add_span(&f, 2, 1000, 1000, THREAD_READY, THREAD_RUNS);
	for (uint64_t at_ms = 1000; at_ms < 31000; at_ms += 10) {
		f.now_ns = at_ms * MS;
		add(&f, 2, METRIC_ON_CPU, 10, "run a.c:20 > hold a.c:18");
		for (size_t i = 0; i < 2; i++) {
			if (at_ms != from_ms[i])
				continue;
			add_span(&f, 1, i ? to_ms[0] : 1000, from_ms[i], THREAD_RUNS,
			         THREAD_BLOCKED);
			add(&f, 1, METRIC_OFF_LOCK, to_ms[i] - from_ms[i], places[i]);
			add_span(&f, 1, from_ms[i], to_ms[i], THREAD_BLOCKED, THREAD_RUNS);
			report_wait(from_ms[i], to_ms[i], 2);
		}
	}
	profile_end_wall(f.profile, 31000 * MS);
	name_all(&f);
	cleanup(wait_rows) struct wait_rows *waits = query_waits(f.profile, 0, 0, NULL);
	cr_expect(eq(u64, waits->rows[0].ns + (waits->count > 1 ? waits->rows[1].ns : 0),
	             (1000 + ms) * MS));
	*count = waits->rows[0].count;
	return waits->count;
}

Test(query_wall, waits_of_next_to_no_time_go_with_those_of_the_same_thread_for_the_same)
{
	uint64_t count;

	cr_expect(eq(sz, rows_of_waits(1, &count), 1));
	cr_expect(eq(u64, count, 2));
	fixture_fini(&f);
	cr_expect(eq(sz, rows_of_waits(10, &count), 2));
	cr_expect(eq(u64, count, 1));
}

// What a report may ask for several times, as texts.
static void ask_all(char *text, size_t size)
{
	const struct query by_function = { .by = BY_FUNCTION, .user_code = QUERY_OWN_CODE };
	cleanup(wait_rows) struct wait_rows *waits = query_waits(f.profile, 0, 0, NULL);
	cleanup(rows) struct rows *rows = query_run(f.profile, &by_function, NULL);
	static struct parallel parallel;
	struct wall_account account;

	cr_assert(waits && rows);
	cr_assert(query_wall_account(f.profile, &by_function, &account, NULL) == 0);
	query_parallel(f.profile, 0, 0, &parallel);
	int used = snprintf(text, size, "%zu waits, %llu of %llu wall, %d, %llu alone in %s\n",
	                    waits->count, (unsigned long long)waits->wall_ns,
	                    (unsigned long long)account.all_ns, account.ranks,
	                    (unsigned long long)parallel.alone_ns,
	                    parallel.alone.function ? parallel.alone.function : "(none)");
	for (size_t i = 0; i < rows->count; i++)
		used += snprintf(text + used, size - (size_t)used, "%s %llu %llu\n",
		                 rows->rows[i].name, (unsigned long long)rows->rows[i].self,
		                 (unsigned long long)rows->rows[i].total);
	// Answers are the caller's: what he does to them is not in the next one.
	waits->wall_ns = waits->count = 0;
	parallel.alone_ns = account.all_ns = 0;
}

Test(query_wall, a_question_has_the_same_answer_the_second_time_within_a_report)
{
	char before[4096], within[4096];

	wait_twice(true, false);
	ask_all(before, sizeof(before));
	cr_expect(strstr(before, "work") != NULL);
	kept_begin(f.profile);
	for (int i = 0; i < 3; i++) {
		ask_all(within, sizeof(within));
		cr_expect(eq(str, within, before));
	}
	kept_end();
	ask_all(within, sizeof(within));
	cr_expect(eq(str, within, before));
	fixture_fini(&f);
	fixture_init(&f, NULL);
}

Test(query_wall, nothing_is_kept_of_another_profile_or_beyond_the_report)
{
	int other;
	const struct profile *others = (const struct profile *)&other;

	cr_expect(!kept_key(f.profile, "a").works);
	kept_begin(f.profile);
	kept_begin(others); // a report within a report
	struct kept_key key = kept_key(f.profile, "a %d", 1);
	cr_expect(key.works);
	cr_expect(!kept_key(others, "a %d", 1).works);
	char *value = strdup("one");
	cr_assert(kept_add(&key, value, free));
	kept_end();
	cr_expect(eq(ptr, kept_find(&key), value));
	const struct kept_key next = kept_key(f.profile, "a %d", 2);
	cr_expect(eq(ptr, kept_find(&next), NULL));
	const struct kept_key too_long = kept_key(f.profile, "%0300d", 1);
	cr_expect(!too_long.works);
	kept_end();
	cr_expect(!kept_key(f.profile, "a").works);
	cr_expect(eq(ptr, kept_find(&key), NULL));
}
