// SPDX-License-Identifier: MIT
// Ranks of MPI on several hosts, whose clocks are apart.
#include "merge/join/merger.h"

#include "base/error.h"
#include "base/message.h"
#include "base/record.h"
#include "merge/op/op_table.h"
#include "merge/profile/profile_parts.h"
#include "merge/query/query_ranks.h"
#include "merge/rules/finding.h"
#include "merge/table/ranks.h"
#include "tests/support/expect.h"
#include "tests/unit/finding_fixture.h"

#include <stdio.h>
#include <string.h>

#define START    1000000000000ULL // of the first, since the epoch
#define RANKS    4
#define BARRIERS 8
#define SLOW     2 // rank
#define SLOW_AT  5 // barrier, from 0
#define AHEAD    7 // ms, the second host's clock is

// Ranks 0 and 1 are of one host, 2 and 3 of another.
static struct run run_of(uint32_t rank)
{
	bool second = rank > 1;

	return (struct run){
		.command = "./app",
		.host = second ? "h1" : "h0",
		.has_rank = true,
		.rank = rank,
		.start_realtime_ns = START + (second ? AHEAD : 0) * MS,
		.start_ns = 1000 * MS,
		.wall_ns = 200 * MS,
		.complete = true,
		.cpus = 2,
	};
}

static void add_barrier(struct fixture *of, uint32_t op, uint64_t end_ns, uint64_t took_ns)
{
	const struct message message = { .bytes = MESSAGE_UNKNOWN, .ranks = RANKS };
	uint64_t words[MESSAGE_WORDS];
	struct op_event event = { .thread = 1,
		                  .op = op,
		                  .begin_ns = end_ns - took_ns,
		                  .end_ns = end_ns,
		                  .self_ns = took_ns,
		                  .detail = OP_DETAIL_MESSAGE,
		                  .detail_count = message_pack(&message, words),
		                  .details = words };

	profile_add_op(of->profile, &event);
}

// All end at the same moments, 20 ms after each other; the slow one comes 6 ms late to one of them.
static void make_rank(struct fixture *of, uint32_t rank)
{
	struct run run = run_of(rank);
	struct error err;

	fixture_init(of, NULL);
	cr_assert(eq(int, profile_set_run(of->profile, &run, &err), 0));
	uint32_t op = ops_add(of->ops, &(struct op){ .provider = OP_MPI,
	                                             .domain = "",
	                                             .category = "",
	                                             .name = "MPI_Barrier" })
	                      ->id;
	add(of, 1, METRIC_ON_CPU, rank == SLOW ? 120 : 20, "main a.c:3 > work a.c:9");
	add(of, 1, METRIC_OFF_LOCK, rank == SLOW ? 10 : 120, "main a.c:4 > MPI_Barrier m.c:1");
	for (uint64_t i = 0; i < BARRIERS; i++) {
		bool late = rank == SLOW && i == SLOW_AT;
		add_barrier(of, op, run.start_ns + (20 + 20 * i) * MS, (late ? 2 : 8) * MS);
	}
	name_all(of);
}

static struct profile *merge_ranks(void)
{
	struct merge_plan plan = { 0 };
	struct error err;
	struct fixture parts[RANKS];

	for (uint32_t i = 0; i < RANKS; i++) {
		make_rank(&parts[i], i);
		merge_plan_add(&plan, parts[i].profile);
	}
	cleanup(merger) struct merger *m = merger_new(&plan, &err);
	cr_assert(ne(ptr, m, NULL));
	for (uint32_t i = 0; i < RANKS; i++) {
		cr_assert(eq(int, merger_add(m, parts[i].profile, &err), 0), "%s", err.text);
		fixture_fini(&parts[i]);
	}
	struct profile *merged = merger_finish(m, &err);
	cr_assert(ne(ptr, merged, NULL));
	return merged;
}

Test(merger_meetings, clocks_of_hosts_are_put_right)
{
	cleanup(profile) struct profile *merged = merge_ranks();
	const struct ranks *ranks = profile_ranks(merged);
	uint64_t first_ns = profile_op_table(merged)->entries[0].first_begin_ns;

	cr_assert(eq(u32, ranks->count, RANKS));
	for (uint32_t i = 1; i < RANKS; i++) {
		cr_expect(eq(u64, ranks->ranks[i].meetings, BARRIERS));
		cr_expect(eq(i64, ranks->ranks[i].ahead_ns, i > 1 ? AHEAD * (int64_t)MS : 0));
		cr_expect(eq(u64, ranks->ranks[i].residual_ns, 0));
	}
	for (uint32_t i = 0; i < profile_op_table(merged)->count; i++)
		cr_expect(eq(u64, profile_op_table(merged)->entries[i].first_begin_ns, first_ns),
		          "%u", i);
	cr_expect(ne(ptr, strstr(profile_run(merged)->notes, "clocks of 2 hosts are put right"),
	             NULL));
}

static void expect_the_slow_one(const struct profile *merged)
{
	struct error err;
	cleanup(rank_rows) struct rank_rows *rows = query_ranks(merged, &err);

	cr_assert(ne(ptr, rows, NULL));
	cr_expect(eq(u64, rows->meetings, BARRIERS));
	cr_expect(eq(u64, rows->held_ns, 6 * MS));
	cr_expect(eq(u32, rows->rows[rows->latest].number, SLOW));
	cr_expect(eq(u64, rows->rows[rows->latest].held_ns, 6 * MS));
	cr_assert(eq(sz, rows->worst_count, 1));
	cr_expect(eq(str, (char *)rows->worst[0].op, "MPI_Barrier"));
	cr_expect(eq(u64, rows->worst[0].waited_ns, 6 * MS));
	cr_expect(eq(u64, rows->worst[0].step, SLOW_AT));
	cr_expect(eq(u64, rows->worst[0].end_ns, (20 + 20 * SLOW_AT) * MS));
	cr_expect(eq(u32, rows->rows[rows->worst[0].rank].number, SLOW));
}

Test(merger_meetings, who_is_waited_for_is_told_with_its_step)
{
	cleanup(profile) struct profile *merged = merge_ranks();

	expect_the_slow_one(merged);
}

Test(merger_meetings, they_are_written_and_read_and_merged_again)
{
	cleanup(profile) struct profile *merged = merge_ranks();
	struct merge_plan plan = { 0 };
	char path[] = "/tmp/merger-XXXXXX";
	struct error err;

	cr_assert(ge(int, mkstemp(path), 0));
	cr_assert(eq(int, profile_write(merged, path, &err), 0), "%s", err.text);
	cleanup(profile) struct profile *read = profile_read(path, &err);
	unlink(path);
	cr_assert(ne(ptr, read, NULL), "%s", err.text);
	expect_the_slow_one(read);
	cr_expect(eq(i64, profile_ranks(read)->ranks[SLOW].ahead_ns, AHEAD * (int64_t)MS));
	merge_plan_add(&plan, read);
	cleanup(merger) struct merger *m = merger_new(&plan, &err);
	cr_assert(eq(int, merger_add(m, read, &err), 0), "%s", err.text);
	cleanup(profile) struct profile *again = merger_finish(m, &err);
	expect_the_slow_one(again);
}

Test(merger_meetings, a_straggler_is_a_finding)
{
	cleanup(profile) struct profile *merged = merge_ranks();
	struct error err;
	cleanup(findings) struct findings *findings =
		query_findings(merged, &(struct query){ 0 }, NULL, &err);
	const struct finding *skew = finding_of(findings, "RANK-SKEW");

	cr_assert(ne(ptr, (void *)skew, NULL));
	cr_expect(epsilon_eq(dbl, skew->value, 6, 0.001));
	cr_expect(eq(u64, skew->saving_ns, 100 * MS));
	cr_expect(eq(str, (char *)skew->function, "work"));
	cr_expect(ne(ptr, strstr(skew->fact, "rank 2 works 6.00 times"), NULL), "%s", skew->fact);
	cr_expect(ne(ptr, strstr(skew->fact, "at 1 of 8"), NULL), "%s", skew->fact);
}
