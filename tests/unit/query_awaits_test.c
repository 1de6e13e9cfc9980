// SPDX-License-Identifier: MIT
#include "merge/query/query_awaits.h"

#include "base/await.h"
#include "base/error.h"
#include "merge/join/merger.h"
#include "merge/profile/profile_data.h"
#include "tests/support/expect.h"
#include "tests/unit/merge_fixture.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LIB "/usr/lib/python3.11/asyncio/"

static struct fixture f;
static char path[64];

static void begin(void)
{
	fixture_init(&f, NULL);
	snprintf(path, sizeof(path), "/tmp/query_awaits_test.%d", (int)getpid());
}

static void end(void)
{
	unlink(path);
	fixture_fini(&f);
}

TestSuite(query_awaits, .init = begin, .fini = end);

static const struct await_told fetch = { "App.fetch", "/w/app.py", 10 };
static const struct await_told fetch_line = { "App.fetch", "/w/app.py", 12 };
static const struct await_told read_line = { "read", "/w/net.py", 7 };
static const struct await_told wait_line = { "StreamReader.read", LIB "streams.py", 700 };
static const struct await_told poll = { "poll", "/w/app.py", 30 };

static const struct await_told feed = { "feed", "", 0 }, news = { "news", "", 0 };
static const struct await_told uvloop = { "uvloop", "", 0 }, loop = { "loop", "", 0 };
static const struct await_told nowhere = { "", "", 0 };

static void tell(enum await_kind kind, uint64_t count, uint64_t ms,
                 const struct await_told *const *at)
{
	struct python_await_event event = { .kind = kind,
		                            .count = count,
		                            .ns = ms * MS,
		                            .longest_ns = (count ? ms / count : 0) * MS };

	for (; at[event.place_count]; event.place_count++)
		event.places[event.place_count] = *at[event.place_count];
	profile_take(f.profile,
	             &(struct sampled){ .kind = SAMPLED_PYTHON_AWAIT, .python_await = &event });
}

#define TELL(kind, count, ms, ...)                                                                 \
	tell(kind, count, ms, (const struct await_told *const[]){ __VA_ARGS__, NULL })

static void tell_all(void)
{
	TELL(AWAIT_RUN, 3, 60, &fetch);
	TELL(AWAIT_TASK, 1, 200, &fetch);
	TELL(AWAIT_TASK, 1, 90, &poll);
	TELL(AWAIT_READY, 3, 40, &fetch);
	TELL(AWAIT_WAIT, 1, 30, &fetch, &fetch_line);
	TELL(AWAIT_WAIT, 2, 70, &fetch, &fetch_line, &read_line, &wait_line);
	TELL(AWAIT_READY, 1, 90, &poll);
	TELL(AWAIT_DELAY, 4, 80, &fetch, &poll);
	TELL(AWAIT_BLOCK, 2, 50, &fetch);
	TELL(AWAIT_NAME, 1, 0, &fetch, &feed);
	TELL(AWAIT_NAME, 1, 0, &fetch, &news);
	TELL(AWAIT_LOOP, 1, 300, &nowhere);
}

Test(query_awaits, a_library_is_asyncio_unless_the_profile_says_another)
{
	TELL(AWAIT_TASK, 1, 200, &fetch);
	TELL(AWAIT_TASK, 1, 90, &poll);
	cleanup(await_rows) struct await_rows *before = query_awaits(f.profile, NULL);
	cr_assert(before && before->task_count == 2);
	cr_expect(eq(str, (char *)before->tasks[0].library, "asyncio"));
	cr_expect(eq(str, (char *)before->all.library, "asyncio"));
	TELL(AWAIT_LIBRARY, 1, 0, &fetch, &uvloop);
	TELL(AWAIT_LIBRARY, 1, 0, &fetch, &loop); // is no part of the other name
	TELL(AWAIT_LIBRARY, 1, 0, &poll, &uvloop);
	cleanup(await_rows) struct await_rows *rows = query_awaits(f.profile, NULL);
	cr_assert(rows && rows->task_count == 2);
	cr_expect(eq(str, (char *)rows->tasks[0].library, "uvloop, loop"));
	cr_expect(eq(str, (char *)rows->tasks[1].library, "uvloop"));
	cr_expect(eq(str, (char *)rows->all.library, "asyncio, loop"));
}

static void expect_all(const struct profile *p, uint64_t times)
{
	cleanup(await_rows) struct await_rows *rows = query_awaits(p, NULL);

	cr_assert(rows && rows->task_count == 2 && rows->wait_count == 2);
	const struct await_tasks *t = &rows->tasks[0];
	cr_expect(eq(str, (char *)t->coroutine.name, "App.fetch"));
	cr_expect(eq(int, t->coroutine.line, 10));
	cr_expect(eq(u64, t->tasks, times));
	cr_expect(eq(u64, t->steps, 3 * times));
	cr_expect(eq(u64, t->total_ns, 200 * MS * times));
	cr_expect(eq(u64, t->running_ns, 60 * MS * times));
	cr_expect(eq(u64, t->ready_ns, 40 * MS * times));
	cr_expect(eq(u64, t->waiting_ns, 100 * MS * times));
	cr_expect(eq(u64, t->longest_ns, 200 * MS));
	cr_expect(eq(str, (char *)t->names, "feed, news"));
	cr_expect(eq(ptr, (void *)rows->tasks[1].names, NULL));
	cr_expect(eq(u64, rows->loops, times));
	cr_expect(eq(u64, rows->loop_ns, 300 * MS * times));
	cr_expect(eq(u64, rows->all.total_ns, 290 * MS * times));
	const struct await_wait *w = &rows->waits[0];
	cr_expect(eq(sz, w->tasks, 0));
	cr_expect(eq(u64, w->ns, 70 * MS * times));
	cr_expect(eq(str, (char *)w->place.name, "read"));
	cr_expect(eq(int, w->place.line, 7));
	cr_expect(eq(str, (char *)w->awaited, "StreamReader.read"));
	cr_expect(eq(str, (char *)w->chain,
	             "App.fetch (app.py:12) > read (net.py:7) > StreamReader.read "
	             "(streams.py:700)"));
	cr_expect(eq(ptr, (void *)rows->waits[1].awaited, NULL));
	cr_assert(rows->block_count == 1 && rows->delay_count == 1);
	cr_expect(eq(u64, rows->blocked_ns, 50 * MS * times));
	cr_expect(eq(u64, rows->blocks[0].steps, 2 * times));
	cr_expect(eq(u64, rows->blocks[0].delayed_ns, 80 * MS * times));
	cr_expect(eq(str, (char *)rows->blocks[0].victim.name, "poll"));
	cr_expect(eq(u64, rows->delays[0].count, 4 * times));
}

Test(query_awaits, what_tasks_did_is_summed_by_coroutine_and_await)
{
	tell_all();
	expect_all(f.profile, 1);
	tell_all();
	expect_all(f.profile, 2);
}

Test(query_awaits, a_profile_without_tasks_has_no_rows)
{
	cleanup(await_rows) struct await_rows *rows = query_awaits(f.profile, NULL);

	cr_assert(rows != NULL);
	cr_expect(rows->task_count + rows->wait_count + rows->block_count == 0);
}

Test(query_awaits, a_file_has_the_same)
{
	struct error err;

	tell_all();
	cr_assert(profile_write(f.profile, path, &err) == 0, "%s", err.text);
	cleanup(profile) struct profile *p = profile_read(path, &err);
	cr_assert(p != NULL, "%s", err.text);
	expect_all(p, 1);
}

Test(query_awaits, rows_of_a_file_that_cannot_be_are_refused)
{
	static const char *const changes[] = {
		"UPDATE await SET kind = 0 WHERE rowid = 1",
		"UPDATE await SET kind = 99 WHERE rowid = 1",
		"UPDATE await SET ns = -1 WHERE rowid = 1",
		"DELETE FROM await WHERE rowid = 12",
		"DELETE FROM await_place",
		"DELETE FROM await_place WHERE await = 1",
		"DELETE FROM await_place WHERE await = 3",
		"DELETE FROM await_place WHERE await = 12",
		"UPDATE await_place SET await = 14 WHERE await = 12",
		"UPDATE await_place SET await = 1",
		"UPDATE await_place SET function = 1 << 20 WHERE await = 1",
		"UPDATE await_place SET line = -1 WHERE await = 1",
		"INSERT INTO await_place SELECT 12, function, file, line FROM await_place",
		"UPDATE await SET kind = 2 WHERE rowid = 2",
		"UPDATE run SET value = 1 << 40 WHERE key = 'awaits'",
		"UPDATE run SET value = 0 WHERE key = 'awaits'",
	};
	struct error err;

	tell_all();
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		sqlite3 *db;
		cr_assert(profile_write(f.profile, path, &err) == 0, "%s", err.text);
		cr_assert(sqlite3_open(path, &db) == SQLITE_OK);
		cr_assert(sqlite3_exec(db, changes[i], NULL, NULL, NULL) == SQLITE_OK, "%s: %s",
		          changes[i], sqlite3_errmsg(db));
		sqlite3_close(db);
		struct profile *p = profile_read(path, &err);
		cr_expect(p == NULL && strstr(err.text, "is damaged: "), "%s", changes[i]);
		cr_expect(not(strstr(err.text, "checksum")), "%s: %s", changes[i], err.text);
		profile_free(p);
	}
}

Test(query_awaits, merged_profiles_have_the_sum)
{
	struct merge_plan plan = { 0 };
	struct run run = { .host = "h",
		           .start_realtime_ns = UINT64_C(1000000000000),
		           .wall_ns = 100 * MS,
		           .start_ns = 1000 * MS,
		           .complete = true };
	struct error err;

	tell_all();
	for (uint32_t i = 0; i < 2; i++) {
		run.has_rank = true;
		run.rank = i;
		cr_assert(eq(int, profile_set_run(f.profile, &run, &err), 0));
		merge_plan_add(&plan, f.profile);
	}
	cleanup(merger) struct merger *m = merger_new(&plan, &err);
	cr_assert(m != NULL);
	for (uint32_t i = 0; i < 2; i++) {
		run.rank = i;
		cr_assert(eq(int, profile_set_run(f.profile, &run, &err), 0));
		cr_assert(eq(int, merger_add(m, f.profile, &err), 0), "%s", err.text);
	}
	cleanup(profile) struct profile *merged = merger_finish(m, &err);
	cr_assert(merged != NULL, "%s", err.text);
	expect_all(merged, 2);
}
