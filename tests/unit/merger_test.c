// SPDX-License-Identifier: MIT
#include "merge/join/merger.h"

#include "base/error.h"
#include "base/record.h"
#include "merge/op/op_table.h"
#include "merge/profile/profile_parts.h"
#include "merge/query/query_ops.h"
#include "merge/query/query_ranks.h"
#include "merge/query/query_waits.h"
#include "merge/query/query_wall.h"
#include "merge/table/ranks.h"
#include "tests/support/expect.h"
#include "tests/unit/merge_fixture.h"

#include <stdio.h>
#include <string.h>

#define START 1000000000000ULL // of the first, since the epoch

static void tell_span(struct fixture *f, uint32_t thread, uint64_t to_ms, enum thread_state state,
                      enum thread_state next)
{
	const struct span_event span = { .thread = thread,
		                         .from_ns = 1000 * MS,
		                         .to_ns = to_ms * MS,
		                         .state = state,
		                         .next = next,
		                         .cause = METRIC_OFF_LOCK };

	profile_take(f->profile, &(struct sampled){ .kind = SAMPLED_SPAN, .span = &span });
}

// For WORK ms its first thread waits for another one, which works.
static void wait_for_keeper(struct fixture *f, uint64_t work)
{
	const struct wait_share by = { (1020 + work) * MS, 2, HELD_BY_OWNER };
	const struct wait_event wait = { .thread = 1,
		                         .begin_ns = 1020 * MS,
		                         .end_ns = (1020 + work) * MS,
		                         .address = 0x9000,
		                         .module = 1,
		                         .kind = HELD_MUTEX,
		                         .count = 1,
		                         .parts = &by };

	add_thread(f, 2, 1, 102, "keeper");
	tell_span(f, 1, 1000, THREAD_READY, THREAD_RUNS);
	tell_span(f, 2, 1000, THREAD_READY, THREAD_RUNS);
	tell_span(f, 1, 1020, THREAD_RUNS, THREAD_BLOCKED);
	f->now_ns = 1021 * MS;
	for (uint64_t i = 0; i < work; i += 10)
		add(f, 2, METRIC_ON_CPU, 10, "keep a.c:30");
	tell_span(f, 1, 1020 + work, THREAD_BLOCKED, THREAD_RUNS);
	profile_take(f->profile, &(struct sampled){ .kind = SAMPLED_WAIT, .wait = &wait });
	profile_end_wall(f->profile, 1100 * MS);
}

// A profile of rank NUMBER, which works WORK ms where others work 20, with an op that takes 7 ms,
// and waits KEPT ms for another thread.
static void make_part(struct fixture *f, uint32_t number, uint64_t work, uint64_t kept)
{
	// Of one host, clocks are the same.
	static const char *const hosts[] = { "h0", "h1", "h2", "h3", "h4" };
	struct run run = {
		.command = "./app",
		.host = hosts[number % 5],
		.has_rank = true,
		.rank = number,
		.start_realtime_ns = START + number * 5 * MS,
		.start_ns = 1000 * MS,
		.wall_ns = 100 * MS,
		.complete = true,
		.cpus = 2,
		.samples = 3,
	};
	struct error err;

	fixture_init(f, NULL);
	cr_assert(eq(int, profile_set_run(f->profile, &run, &err), 0));
	add(f, 1, METRIC_ON_CPU, 20, "main a.c:3 > {step train.py:8} > work a.c:9");
	if (work)
		add(f, 1, METRIC_ON_CPU, work, "main a.c:3 > extra a.c:20");
	add(f, 1, METRIC_OFF_LOCK, work ? 1 : 60, "main a.c:4 > MPI_Barrier m.c:1");
	if (kept)
		wait_for_keeper(f, kept);
	struct op_event op = { .thread = 1,
		               .op = op_called(f, "solve"),
		               .begin_ns = 1010 * MS,
		               .end_ns = 1017 * MS,
		               .self_ns = 7 * MS };
	profile_add_op(f->profile, &op);
	struct thread_end end = { .thread = 1, .time_ns = 1100 * MS, .exact = true };
	end.ns[METRIC_ON_CPU] = (20 + work) * MS;
	end.ns[METRIC_OFF_LOCK] = (work ? 1 : 60) * MS;
	profile_end_thread(f->profile, &end);
	name_all(f);
}

static void plan_run(struct merge_plan *plan, uint64_t start_ns)
{
	const struct run run = { .start_realtime_ns = start_ns, .wall_ns = 100 * MS };
	struct fixture f;
	struct error err;

	fixture_init(&f, NULL);
	cr_assert(eq(int, profile_set_run(f.profile, &run, &err), 0));
	merge_plan_add(plan, f.profile);
	fixture_fini(&f);
}

// The ranks 0 to COUNT - 1; SLOW works 50 ms more than the others.
static struct profile *merge_ranks(uint32_t count, uint32_t slow)
{
	struct merge_plan plan = { 0 };
	struct error err;

	for (uint32_t i = 0; i < count; i++)
		plan_run(&plan, START + i * 5 * MS);
	cleanup(merger) struct merger *m = merger_new(&plan, &err);
	cr_assert(ne(ptr, m, NULL));
	for (uint32_t i = 0; i < count; i++) {
		struct fixture f;
		make_part(&f, i, i == slow ? 50 : 0, 0);
		cr_assert(eq(int, merger_add(m, f.profile, &err), 0), "%s", err.text);
		fixture_fini(&f);
	}
	struct profile *merged = merger_finish(m, &err);
	cr_assert(ne(ptr, merged, NULL));
	return merged;
}

static struct profile *merge_numbers(uint32_t count, const uint32_t *numbers)
{
	struct merge_plan plan = { 0 };
	struct fixture f;
	struct error err;

	for (uint32_t i = 0; i < count; i++) {
		make_part(&f, numbers[i], 0, 0);
		merge_plan_add(&plan, f.profile);
		fixture_fini(&f);
	}
	cleanup(merger) struct merger *m = merger_new(&plan, &err);
	cr_assert(ne(ptr, m, NULL));
	for (uint32_t i = 0; i < count; i++) {
		make_part(&f, numbers[i], 0, 0);
		cr_assert(eq(int, merger_add(m, f.profile, &err), 0), "%s", err.text);
		fixture_fini(&f);
	}
	struct profile *merged = merger_finish(m, &err);
	cr_assert(ne(ptr, merged, NULL));
	return merged;
}

static struct profile *merge_two(const struct profile *first, const struct profile *second)
{
	struct merge_plan plan = { 0 };
	struct error err;

	merge_plan_add(&plan, first);
	merge_plan_add(&plan, second);
	cleanup(merger) struct merger *m = merger_new(&plan, &err);
	cr_assert(ne(ptr, m, NULL));
	cr_assert(eq(int, merger_add(m, first, &err), 0), "%s", err.text);
	cr_assert(eq(int, merger_add(m, second, &err), 0), "%s", err.text);
	struct profile *merged = merger_finish(m, &err);
	cr_assert(ne(ptr, merged, NULL));
	return merged;
}

static const struct row *row_called(const struct rows *rows, const char *name)
{
	for (size_t i = 0; i < rows->count; i++)
		if (strcmp(rows->rows[i].name, name) == 0)
			return &rows->rows[i];
	cr_assert(false, "there is no %s", name);
	return NULL;
}

static void expect_sums(const struct profile *merged, uint32_t count)
{
	const struct query query = { .by = BY_FUNCTION };
	const struct op_query ops_query = { .by = OPS_BY_OP };
	struct totals totals;
	struct error err;

	query_totals(merged, &totals);
	cr_expect(eq(u64, totals.on_cpu_ns, (20 * count + 50) * MS));
	cr_expect(eq(u64, totals.off_cpu_ns, (60 * (count - 1) + 1) * MS));
	cr_expect(eq(u32, totals.processes, count));
	cr_expect(eq(u32, totals.threads, count));
	cleanup(rows) struct rows *rows = query_run(merged, &query, &err);
	cr_expect(eq(u64, row_called(rows, "work")->self, 20 * count * MS));
	cr_expect(eq(u64, row_called(rows, "extra")->self, 50 * MS));
	cr_expect(eq(u64, row_called(rows, "step")->total, 20 * count * MS));
	cr_expect(eq(str, (char *)row_called(rows, "step")->file, "train.py"));
	cr_expect(eq(u64, row_called(rows, "main")->total, totals.on_cpu_ns + totals.off_cpu_ns));
	cr_expect(eq(u64, row_called(rows, "work")->self_samples, count));
	cleanup(op_rows) struct op_rows *ops = query_ops(merged, &ops_query, &err);
	cr_assert(eq(sz, ops->count, 1));
	cr_expect(eq(u64, ops->rows[0].calls, count));
	cr_expect(eq(u64, ops->rows[0].total_ns, 7 * count * MS));
	cr_expect(eq(u64, profile_run(merged)->samples, 3 * count));
}

Test(merger, wall_time_is_that_of_the_rank_which_works_longest)
{
	struct merge_plan plan = { 0 };
	struct wall_rank rank;
	struct error err;

	for (uint32_t i = 0; i < 3; i++)
		plan_run(&plan, START + i * 5 * MS);
	cleanup(merger) struct merger *m = merger_new(&plan, &err);
	for (uint32_t i = 0; i < 3; i++) {
		struct fixture f;
		make_part(&f, i, 0, i == 1 ? 60 : 20);
		cr_assert(eq(int, merger_add(m, f.profile, &err), 0), "%s", err.text);
		fixture_fini(&f);
	}
	cleanup(profile) struct profile *merged = merger_finish(m, &err);
	cr_assert(ne(ptr, merged, NULL));
	cr_assert(query_wall_rank(merged, &rank));
	cr_expect(eq(u32, rank.number, 1));
	cr_expect(rank.numbered);
	cleanup(wait_rows) struct wait_rows *waits = query_waits(merged, 0, 0, &err);
	cr_assert(waits && waits->count == 1);
	cr_expect(eq(u64, waits->ns, 60 * MS));
	cr_expect(eq(str, (char *)waits->rows[0].holder.function, "keep"));
	cleanup(rows) struct rows *owners = query_wall_owners(merged, &(struct query){ 0 }, &err);
	cr_expect(eq(u64, row_called(owners, "keep")->self, 60 * MS));
	// The times of that rank begin 5 ms after the first one's.
	cleanup(wait_rows) struct wait_rows *none = query_waits(merged, 1, 20 * MS, &err);
	cr_assert(none && !none->whole_run);
	cr_expect(eq(sz, none->count, 0));
}

Test(merger, sums_are_those_of_the_parts)
{
	cleanup(profile) struct profile *merged = merge_ranks(5, 3);

	expect_sums(merged, 5);
	cr_expect(eq(u64, profile_run(merged)->wall_ns, (4 * 5 + 100) * MS));
	cr_expect(eq(u32, profile_run(merged)->cpus, 10)); // of five hosts
}

Test(merger, so_they_are_of_more_than_are_kept_apart)
{
	cleanup(profile) struct profile *few = merge_ranks(MERGER_APART + 1, 3);
	cleanup(profile) struct profile *many = merge_ranks(4 * MERGER_APART, 3);
	struct account account;
	struct error err;

	expect_sums(few, MERGER_APART + 1);
	expect_sums(many, 4 * MERGER_APART);
	// What is kept grows with what differs, not with the number of parts.
	cr_expect(eq(u32, profile_paths(few)->count, profile_paths(many)->count));
	cr_expect(eq(u32, profile_locations(few)->count, profile_locations(many)->count));
	cr_expect(eq(sz, profile_threads(few)->thread_count, profile_threads(many)->thread_count));
	cr_expect(
		eq(u32, strings_count(profile_strings(few)), strings_count(profile_strings(many))));
	cr_assert(eq(int, query_account(many, &account, &err), 0));
	cr_expect(eq(u64, account.ns[METRIC_OFF_LOCK], 60 * MS)); // of the first
}

Test(merger, ranks_are_told_apart_by_the_names_of_their_processes)
{
	const struct query query = { .by = BY_PROCESS, .process = "app [rank 3]" };
	cleanup(profile) struct profile *merged = merge_ranks(5, 3);
	struct error err;
	cleanup(rows) struct rows *rows = query_run(merged, &query, &err);

	cr_expect(eq(u64, rows->all, 71 * MS));
}

// As the tasks of a job array have them, each a rank 0 of 1.
Test(merger, ranks_of_the_same_number_are_told_apart_by_their_places)
{
	cleanup(profile) struct profile *pair = merge_numbers(2, (uint32_t[]){ 0, 0 });
	struct totals totals;

	query_totals(pair, &totals);
	cr_expect(eq(u32, totals.processes, 2));
	for (uint32_t i = 0; i < 2; i++) {
		const struct rank_info *info = &profile_ranks(pair)->ranks[i];
		const struct query query = { .by = BY_PROCESS,
			                     .process = i ? "app [profile 1]" : "app [profile 0]" };
		cleanup(rows) struct rows *rows = query_run(pair, &query, NULL);
		cr_expect(eq(u64, rows->all, 80 * MS));
		cr_expect(eq(u32, info->number, i));
		cr_expect(not(info->numbered));
	}
	// Of two jobs, each merged already.
	cleanup(profile) struct profile *first = merge_ranks(2, 9), *second = merge_ranks(2, 9);
	cleanup(profile) struct profile *both = merge_two(first, second);
	query_totals(both, &totals);
	cr_expect(eq(u32, totals.processes, 4));
	cleanup(profile) struct profile *all = merge_two(first, pair);
	query_totals(all, &totals);
	cr_expect(eq(u32, totals.processes, 4));
	cr_expect(eq(u32, profile_ranks(all)->ranks[3].number, 3));
}

Test(merger, times_stand_where_the_clocks_say)
{
	// Ranks start 5 ms after each other, and their op 10 ms into them.
	cleanup(profile) struct profile *merged = merge_ranks(3, 9);
	uint64_t start = profile_start_ns(merged);

	cr_assert(eq(u32, profile_op_table(merged)->count, 3));
	for (uint32_t i = 0; i < 3; i++)
		cr_expect(eq(u64, profile_op_table(merged)->entries[i].first_begin_ns - start,
		             (10 + 5 * i) * MS));
	for (uint32_t i = 0; i < 3; i++)
		cr_expect(eq(u64, profile_ranks(merged)->ranks[i].start_ns, 5 * i * MS));
}

Test(merger, runs_that_do_not_overlap_are_laid_over_each_other)
{
	struct merge_plan plan = { 0 };

	plan_run(&plan, START);
	cr_expect(not(plan.by_start));
	plan_run(&plan, START + 99 * MS);
	cr_expect(not(plan.by_start));
	plan_run(&plan, START + 150 * MS);
	cr_expect(plan.by_start);
	cr_expect(eq(sz, plan.count, 3));
}

Test(merger, the_straggler_is_named_with_its_function)
{
	cleanup(profile) struct profile *merged = merge_ranks(5, 3);
	struct error err;
	cleanup(rank_rows) struct rank_rows *rows = query_ranks(merged, &err);

	cr_assert(eq(sz, rows->count, 5));
	cr_expect(eq(sz, rows->hosts, 5));
	cr_expect(rows->straggles);
	cr_expect(eq(u32, rows->rows[0].number, 3));
	cr_expect(eq(u64, rows->rows[0].busy_ns, 70 * MS));
	cr_expect(eq(u64, rows->rows[1].mpi_ns, 60 * MS));
	cr_expect(eq(u64, rows->excess_ns, 50 * MS));
	cr_expect(eq(u64, rows->waited_ns, 59 * MS));
	cr_assert(ne(ptr, (void *)rows->because, NULL));
	cr_expect(eq(str, (char *)rows->because->function, "extra"));
	cr_expect(eq(u64, rows->because->most_ns, 50 * MS));
	cr_expect(eq(u64, rows->because->median_ns, 0));
}

Test(merger, ranks_that_work_alike_have_no_straggler)
{
	cleanup(profile) struct profile *merged = merge_ranks(5, 99);
	struct error err;
	cleanup(rank_rows) struct rank_rows *rows = query_ranks(merged, &err);

	cr_expect(not(rows->straggles));
	cr_expect(eq(sz, rows->skew_count, 0));
}

Test(merger, a_merged_profile_is_written_and_read)
{
	cleanup(profile) struct profile *merged = merge_ranks(5, 3);
	char path[] = "/tmp/merger-XXXXXX";
	struct error err;

	cr_assert(ge(int, mkstemp(path), 0));
	cr_assert(eq(int, profile_write(merged, path, &err), 0), "%s", err.text);
	cleanup(profile) struct profile *read = profile_read(path, &err);
	cr_assert(ne(ptr, read, NULL), "%s", err.text);
	cleanup(profile) struct profile *facts = profile_read_run(path, &err);
	cr_assert(ne(ptr, facts, NULL), "%s", err.text);
	unlink(path);
	expect_sums(read, 5);
	cr_expect(eq(u64, profile_run(facts)->wall_ns, profile_run(merged)->wall_ns));
	cr_assert(eq(u32, profile_ranks(read)->count, 5));
	cr_expect(eq(u32, profile_ranks(read)->share_count, profile_ranks(merged)->share_count));
	cleanup(rank_rows) struct rank_rows *rows = query_ranks(read, &err);
	cr_expect(rows->straggles);
	cr_expect(eq(str, (char *)rows->rows[0].host, "h3"));
}
