// SPDX-License-Identifier: MIT
// Who had the CPUs while threads were ready to run.
#include "merge/query/query_contention.h"

#include "tests/support/expect.h"
#include "tests/unit/merge_fixture.h"

#include <string.h>

static struct fixture f;

static void begin(void)
{
	fixture_init(&f, NULL);
}

static void end(void)
{
	fixture_fini(&f);
}

TestSuite(query_contention, .init = begin, .fini = end);

// COUNT threads beside the first one, in MS from FROM_MS on: each on a CPU for ON_MS, and ready for
// the rest.
static void threads(unsigned count, uint64_t from_ms, uint64_t ms, uint64_t on_ms)
{
	for (unsigned i = 0; i < count; i++) {
		if (!from_ms)
			add_thread(&f, 10 + i, 1, 110 + i, "worker");
		f.now_ns = (1000 + from_ms) * MS;
		for (uint64_t done = 0; done < on_ms; done++, f.now_ns += ms * MS / on_ms)
			add(&f, 10 + i, METRIC_ON_CPU, 1, "run a.c:30");
		f.now_ns = (1000 + from_ms) * MS;
		if (ms > on_ms)
			profile_add_stack(f.profile,
			                  &(struct stack){ .thread = 10 + i,
			                                   .metric = METRIC_OFF_RUNNABLE,
			                                   .time_ns = (1000 + from_ms) * MS,
			                                   .duration_ns = ms * MS,
			                                   .weight_ns = (ms - on_ms) * MS,
			                                   .samples = 1 });
	}
	f.now_ns = (1000 + from_ms + ms) * MS;
}

static struct contention_answer contention_of(const char *contention, uint64_t wall_ms)
{
	const struct run run = { .start_ns = 1000 * MS,
		                 .wall_ns = wall_ms * MS,
		                 .cpus = 2,
		                 .off_cpu_exact = true,
		                 .contention = contention };
	struct contention_answer answer;

	cr_assert(profile_set_run(f.profile, &run, NULL) == 0);
	cr_assert(eq(int, query_contention(f.profile, 0, 0, &answer, NULL), 0));
	return answer;
}

static bool is_near(uint64_t ns, uint64_t ms)
{
	return ns + 15 * MS >= ms * MS && ns <= (ms + 15) * MS;
}

#define EXPECT(answer, quota, own, others)                                                         \
	cr_expect(is_near((answer).all.quota_ns, quota) && is_near((answer).all.own_ns, own) &&    \
	                  is_near((answer).all.others_ns, others),                                 \
	          "quota %lu, own %lu, others %lu ms",                                             \
	          (unsigned long)((answer).all.quota_ns / MS),                                     \
	          (unsigned long)((answer).all.own_ns / MS),                                       \
	          (unsigned long)((answer).all.others_ns / MS))

// Four threads on two CPUs, throttled for 3/4 of the time: each waits for 1/2 of the rest.
Test(query_contention, a_quota_comes_first_then_threads_beyond_the_cpus)
{
	threads(4, 0, 1000, 125);
	struct contention_answer answer = contention_of("1000000:750000:1500000:500000:0", 1000);
	EXPECT(answer, 3000, 500, 0);
	cr_expect(is_near(answer.throttled_ns, 750));
}

Test(query_contention, threads_beyond_the_cpus_are_the_programs_own)
{
	threads(4, 0, 1000, 500);
	EXPECT(contention_of("1000000:0:0:2000000:0", 1000), 0, 2000, 0);
}

// Others ran on the other CPU all the time: they were in nobody's way.
Test(query_contention, threads_beyond_the_cpus_that_they_are_bound_to_are_the_programs_own)
{
	const struct run run = { .start_ns = 1000 * MS,
		                 .wall_ns = 1000 * MS,
		                 .cpus = 2,
		                 .bound_ns = 1000 * MS,
		                 .bound_threads = 2,
		                 .bound_cpus = 1,
		                 .off_cpu_exact = true,
		                 .contention = "1000000:0:0:2000000:0" };
	struct contention_answer answer;

	threads(2, 0, 1000, 500);
	cr_assert(profile_set_run(f.profile, &run, NULL) == 0);
	cr_assert(eq(int, query_contention(f.profile, 0, 0, &answer, NULL), 0));
	EXPECT(answer, 0, 1000, 0);
}

// As many threads as CPUs: whatever they wait for is others, though their own are on CPUs, too.
Test(query_contention, as_many_threads_as_cpus_wait_for_others)
{
	threads(1, 0, 1000, 500);
	EXPECT(contention_of("1000000:0:0:2000000:0", 1000), 0, 0, 500);
}

// Without the others, who ran for 400 ms, four threads would wait for 2 s of their 2.4.
Test(query_contention, of_both_each_has_its_part)
{
	threads(4, 0, 1000, 400);
	EXPECT(contention_of("1000000:0:0:2000000:0", 1000), 0, 2000, 400);
}

// Mean numbers of threads say little of bursts: but who did not run took nothing.
Test(query_contention, others_who_did_not_run_took_nothing)
{
	threads(4, 0, 200, 100);
	EXPECT(contention_of("1000000:0:0:400000:0", 1000), 0, 400, 0);
}

// As a thread that is woken, and waits for the CPU of who woke it.
Test(query_contention, an_idle_cpu_is_nobodys_fault)
{
	threads(1, 0, 1000, 500);
	struct contention_answer answer = contention_of("1000000:0:0:600000:0", 1000);
	EXPECT(answer, 0, 0, 100);
	cr_expect(is_near(answer.all.nobody_ns, 400));
}

// Three threads on two CPUs. In each 10 ms one is ready for 4: in 1 of them both CPUs are busy.
Test(query_contention, more_threads_than_cpus_are_no_reason_while_one_is_idle)
{
	threads(3, 0, 1000, 400);
	add_span(&f, 1, 1000, 1000, THREAD_READY, THREAD_BLOCKED);
	for (uint32_t i = 10; i < 13; i++)
		add_span(&f, i, 1000, 1000, THREAD_BLOCKED, i == 12 ? THREAD_READY : THREAD_RUNS);
	for (uint64_t ms = 1000; ms < 2000; ms += 10) {
		add_span(&f, 10, ms, ms + 1, THREAD_RUNS, THREAD_BLOCKED);
		add_span(&f, 12, ms, ms + 4, THREAD_READY, THREAD_RUNS);
		add_span(&f, 11, ms, ms + 4, THREAD_RUNS, THREAD_BLOCKED);
		add_span(&f, 12, ms + 4, ms + 10, THREAD_RUNS, THREAD_READY);
		add_span(&f, 10, ms + 1, ms + 10, THREAD_BLOCKED, THREAD_RUNS);
		add_span(&f, 11, ms + 4, ms + 10, THREAD_BLOCKED, THREAD_RUNS);
	}
	profile_end_wall(f.profile, 2000 * MS);
	struct contention_answer answer = contention_of("1000000:0:0:1200000:0", 1000);
	EXPECT(answer, 0, 450, 0);
	cr_expect(is_near(answer.all.nobody_ns, 1350));
}

// The quota in the first half, others in the second one.
Test(query_contention, each_row_is_judged_by_itself)
{
	threads(1, 0, 500, 250);
	threads(1, 500, 500, 300);
	EXPECT(contention_of("500000:250000:250000:250000:0 1000000:0:0:1000000:0", 1000), 250, 0,
	       200);
}

Test(query_contention, profiles_without_a_table_have_the_machine_as_a_whole)
{
	threads(4, 0, 1000, 500);
	EXPECT(contention_of(NULL, 1000), 0, 2000, 0);
	EXPECT(contention_of("nonsense", 1000), 0, 2000, 0);
}

Test(query_contention, parts_of_a_wait_sum_to_it)
{
	struct contention_answer answer = { .all = { 300, 100, 300 }, .throttled_ns = 300 };

	contention_share(700, &answer);
	cr_expect(eq(u64, answer.critical.quota_ns, 300));
	cr_expect(eq(u64, answer.critical.own_ns, 100));
	cr_expect(eq(u64, answer.critical.others_ns, 300));
	contention_share(100, &answer);
	cr_expect(eq(u64, answer.critical.quota_ns, 100));
	cr_expect(eq(u64, answer.critical.others_ns, 0));
}

Test(query_contention, groups_with_a_quota)
{
	const struct run run = { .quota_groups = "50000 100000 10 5 750 375 /a b\nnonsense\n"
		                                 "1 0 1 1 1 1 /period\n1 2 3 4 5 6 \n"
		                                 "30000 100000 1 1 70 70 /" };
	struct quota_group groups[QUOTA_GROUPS];

	cr_assert(eq(sz, query_quota_groups(&run, groups), 2));
	cr_expect_str_eq(groups[0].name, "/a b");
	cr_expect(eq(u64, groups[0].wall_ns, 375));
	cr_expect_str_eq(groups[1].name, "/");
	cr_expect(eq(sz, query_quota_groups(&(struct run){ 0 }, groups), 0));
}
