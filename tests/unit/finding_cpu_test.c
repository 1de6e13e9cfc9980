// SPDX-License-Identifier: MIT
// Findings on CPUs, threads and locks.
#include "tests/unit/finding_fixture.h"

#include "base/record.h"

#include <criterion/criterion.h>
#include <string.h>

TestSuite(finding_cpu, .init = begin, .fini = end);

static void threads_of(unsigned count, uint64_t each_ms, uint64_t last_ms, uint64_t runnable_ms)
{
	for (unsigned i = 0; i < count; i++) {
		add_thread(&f, 10 + i, 1, 110 + i, "worker");
		add(&f, 10 + i, METRIC_ON_CPU, i + 1 == count ? last_ms : each_ms,
		    "run a.c:30 > work a.c:31");
		if (runnable_ms)
			add(&f, 10 + i, METRIC_OFF_RUNNABLE, runnable_ms,
			    "run a.c:30 > work a.c:31");
	}
}

// They wait for each other, MS in each.
static void threads_meet(unsigned count, uint64_t ms, const char *stack)
{
	for (unsigned i = 0; i < count; i++)
		add(&f, 10 + i, METRIC_OFF_LOCK, ms, stack);
}

Test(finding_cpu, threads_with_unequal_work)
{
	threads_of(4, 500, 833, 0); // 1.43 times the average
	finish(1000, 8);
	cleanup(findings) struct findings *silent = look(NULL);
	cr_expect_null(finding_of(silent, "CPU-IMBALANCE"));
	end();
	begin();
	threads_of(4, 500, 1000, 0); // 1.6 times
	finish(1000, 8);
	cleanup(findings) struct findings *fired = look(NULL);
	const struct finding *finding = finding_of(fired, "CPU-IMBALANCE");
	cr_assert(finding != NULL);
	cr_expect_float_eq(finding->value, 1.6, 0.01);
	cr_expect_eq(finding->saving_ns / MS, 375);
}

// All four are ready to run for a second, of which one gets more than the others.
Test(finding_cpu, threads_that_get_unequal_shares_of_cpus_have_equal_work)
{
	threads_of(3, 250, 250, 750);
	add_thread(&f, 20, 1, 120, "worker");
	add(&f, 20, METRIC_ON_CPU, 900, "run a.c:30 > work a.c:31");
	add(&f, 20, METRIC_OFF_RUNNABLE, 100, "run a.c:30 > work a.c:31");
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	cr_expect_null(finding_of(findings, "CPU-IMBALANCE"));
}

Test(finding_cpu, more_threads_than_cpus)
{
	threads_of(4, 500, 500, 250); // (2 + 1) of 2 CPUs
	threads_meet(4, 50, "run a.c:30 > meet a.c:32 > pthread_barrier_wait@libc");
	finish(1000, 2);
	cleanup(findings) struct findings *silent = look(NULL);
	cr_expect_null(finding_of(silent, "CPU-OVERSUB"));
	end();
	begin();
	threads_of(4, 500, 500, 260);
	threads_meet(4, 50, "run a.c:30 > meet a.c:32 > pthread_barrier_wait@libc");
	finish(1000, 2);
	cleanup(findings) struct findings *fired = look(NULL);
	cr_expect(finding_of(fired, "CPU-OVERSUB") != NULL);
}

static void tell_span(uint32_t thread, uint64_t from_ms, uint64_t to_ms, enum thread_state state,
                      enum thread_state next)
{
	const struct span_event span = { thread, from_ms * MS, to_ms * MS,
		                         state,  next,         METRIC_OFF_LOCK };

	profile_take(f.profile, &(struct sampled){ .kind = SAMPLED_SPAN, .span = &span });
}

// The main thread computes for 1 s beside thread 2, then waits for HELD_MS, of KIND, for what that
// does, and both compute up to the end of the 3 s.
static struct findings *hold(uint32_t kind, uint64_t held_ms)
{
	const uint64_t end_ms = 2000 + held_ms;
	const struct wait_share by = { end_ms * MS, 2, HELD_BY_OWNER };
	const struct wait_event wait = { .thread = 1,
		                         .begin_ns = 2000 * MS,
		                         .end_ns = end_ms * MS,
		                         .address = 0x1000,
		                         .kind = kind,
		                         .count = 1,
		                         .parts = &by };

	end();
	begin();
	add_thread(&f, 2, 1, 102, "flusher");
	tell_span(1, 1000, 1000, THREAD_READY, THREAD_RUNS);
	tell_span(2, 1000, 1000, THREAD_READY, THREAD_RUNS);
	for (uint64_t ms = 1000; ms < 4000; ms += 10) {
		f.now_ns = (ms + 5) * MS;
		if (ms < 2000 || ms >= end_ms)
			add(&f, 1, METRIC_ON_CPU, 10, "main a.c:3 > work a.c:9");
		add(&f, 2, METRIC_ON_CPU, 10,
		    ms >= 2000 && ms < end_ms ? "flusher a.c:20 > flush_log a.c:18"
		                              : "flusher a.c:20 > other a.c:25");
		if (ms == 2000)
			tell_span(1, 1000, 2000, THREAD_RUNS, THREAD_BLOCKED);
		if (ms == end_ms) {
			f.now_ns = 2000 * MS;
			add(&f, 1, METRIC_OFF_LOCK, held_ms,
			    "main a.c:3 > save a.c:31 > pthread_mutex_lock@libc");
			tell_span(1, 2000, end_ms, THREAD_BLOCKED, THREAD_RUNS);
			profile_take(f.profile,
			             &(struct sampled){ .kind = SAMPLED_WAIT, .wait = &wait });
		}
	}
	profile_end_wall(f.profile, 4000 * MS);
	finish(3000, 2);
	return look(NULL);
}

// The texts of findings are the profile's, which the next one replaces.
Test(finding_cpu, one_holds_what_the_run_waits_for)
{
	cleanup(findings) struct findings *found = hold(HELD_MUTEX, 900);
	const struct finding *finding = finding_of(found, "CPU-HOLDER");

	cr_assert(finding != NULL);
	cr_expect_float_eq(finding->value, 30, 0.5);
	cr_expect_float_eq((double)finding->saving_ns / MS, 900, 15);
	cr_expect_str_eq(finding->function, "flush_log");
	cr_expect_eq(finding->line, 18);
	cr_expect(strstr(finding->fact, "flush_log (a.c:18), which holds a mutex while save waits "
	                                "for it at a.c:31"),
	          "%s", finding->fact);
	cr_expect_str_eq(found->items[0].rule->id, "CPU-HOLDER"); // before what it stands for
	cleanup(findings) struct findings *shorter = hold(HELD_MUTEX, 500); // 17 %
	cr_expect_null(finding_of(shorter, "CPU-HOLDER"));
	cleanup(findings) struct findings *own_work = hold(HELD_JOIN, 900);
	cr_expect_null(finding_of(own_work, "CPU-HOLDER"));
}

Test(finding_cpu, a_stage_that_the_others_wait_for)
{
	cleanup(findings) struct findings *found = hold(HELD_CONDITION, 900);
	const struct finding *finding = finding_of(found, "CPU-STAGE");

	cr_assert(finding != NULL);
	cr_expect_float_eq(finding->value, 30, 0.5);
	cr_expect_float_eq((double)finding->saving_ns / MS, 900, 15);
	cr_expect_str_eq(finding->function, "flush_log");
	cr_expect_str_eq(finding->fact,
	                 "flush_log (a.c:18) works alone for 30 % of wall time, while save waits "
	                 "for it at a condition variable (a.c:31)");
	cleanup(findings) struct findings *at_barrier = hold(HELD_BARRIER, 900);
	cr_expect(finding_of(at_barrier, "CPU-STAGE") != NULL);
	cleanup(findings) struct findings *shorter = hold(HELD_CONDITION, 700); // 23 %
	cr_expect_null(finding_of(shorter, "CPU-STAGE"));
	cleanup(findings) struct findings *own_work = hold(HELD_JOIN, 900);
	cr_expect_null(finding_of(own_work, "CPU-STAGE"));
}

Test(finding_cpu, a_part_that_is_not_divided_among_threads)
{
	cleanup(findings) struct findings *found = hold(HELD_JOIN, 1200);
	const struct finding *finding = finding_of(found, "CPU-ALONE");

	cr_assert(finding != NULL);
	cr_expect_float_eq(finding->value, 40, 0.5);
	cr_expect_str_eq(finding->function, "flush_log");
	cr_expect(strstr(finding->fact, "in which no other thread has anything to do") != NULL,
	          "%s", finding->fact);
	cleanup(findings) struct findings *shorter = hold(HELD_JOIN, 800); // 27 %
	cr_expect_null(finding_of(shorter, "CPU-ALONE"));
	cleanup(findings) struct findings *stage = hold(HELD_CONDITION, 1200);
	cr_assert(finding_of(stage, "CPU-ALONE") != NULL);
	cr_expect_str_eq(finding_of(stage, "CPU-ALONE")->covered->id, "CPU-STAGE");
}

// The main thread waits 400 ms for a thread that computes WORK_MS and lacks a CPU for QUEUE_MS.
static bool finds_loops(uint64_t work_ms, uint64_t queue_ms)
{
	end();
	begin();
	add_thread(&f, 2, 1, 102, "app");
	add(&f, 1, METRIC_ON_CPU, 400, "main a.c:3 > loop a.c:40");
	add(&f, 1, METRIC_OFF_LOCK, 400, "main a.c:3 > loop a.c:39 > GOMP_parallel@libgomp");
	add(&f, 2, METRIC_ON_CPU, work_ms, "loop a.c:40");
	if (queue_ms)
		add(&f, 2, METRIC_OFF_RUNNABLE, queue_ms, "loop a.c:40");
	finish(800, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	const struct finding *finding = finding_of(findings, "CPU-LOOPS");
	cr_expect(!finding || finding->line == 39);
	cr_expect(!finding || finding->saving_ns == 200 * MS);
	return finding;
}

Test(finding_cpu, parallel_loops_whose_threads_wait_for_one)
{
	cr_expect(finds_loops(800, 0));
	cr_expect(finds_loops(600, 200));
	cr_expect(!finds_loops(410, 390), "others had the CPU");
}

Test(finding_cpu, parallel_loops_of_libraries_are_theirs)
{
	add(&f, 1, METRIC_ON_CPU, 400, "main a.c:3 > work a.c:40");
	add(&f, 1, METRIC_OFF_LOCK, 400,
	    "main a.c:3 > work a.c:39 > matmul@libc > GOMP_parallel@libgomp");
	finish(800, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	cr_expect_null(finding_of(findings, "CPU-LOOPS"));
}

Test(finding_cpu, waiting_for_a_lock_of_openmp_is_no_end_of_a_loop)
{
	add(&f, 1, METRIC_ON_CPU, 500, "main a.c:3 > loop a.c:40");
	add(&f, 1, METRIC_OFF_LOCK, 500,
	    "main a.c:3 > loop a.c:41 > GOMP_critical_start@libgomp > wait@libgomp");
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	cr_expect_null(finding_of(findings, "CPU-LOOPS"));
	cr_expect(finding_of(findings, "CPU-LOCK") != NULL);
}

Test(finding_cpu, many_threads_that_do_not_wait_for_each_other_are_no_fault)
{
	threads_of(4, 500, 500, 400);
	threads_meet(4, 100, "run a.c:30 > end a.c:33 > pthread_join@libc");
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	cr_expect_null(finding_of(findings, "CPU-OVERSUB"));
}

// LINE of the same function is behind the lock or before it.
static void expect_held(int line, bool told)
{
	char stack[100];

	end();
	begin();
	snprintf(stack, sizeof(stack), "main a.c:3 > save a.c:%d > fsync@libc", line);
	add(&f, 1, METRIC_OFF_LOCK, 500, "main a.c:3 > save a.c:20 > pthread_mutex_lock@libc");
	add_thread(&f, 2, 1, 102, "worker");
	add(&f, 2, METRIC_OFF_FILE, 400, stack);
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	const struct finding *finding = finding_of(findings, "CPU-LOCK");
	cr_assert(finding != NULL);
	cr_expect_eq(strstr(finding->advice, "waits in fsync, 0.40 s in all") != NULL, told,
	             "line %d: %s", line, finding->advice);
}

Test(finding_cpu, what_is_waited_for_behind_a_lock_is_told)
{
	expect_held(22, true);
	expect_held(18, false);
}

Test(finding_cpu, where_others_have_the_cpus_the_queue_is_theirs)
{
	threads_of(4, 20, 20, 950);
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	cr_expect_null(finding_of(findings, "CPU-OVERSUB"));
}

Test(finding_cpu, several_threads_that_leave_cpus_idle)
{
	threads_of(4, 1000, 1000, 0);
	finish(1000, 8);
	cleanup(findings) struct findings *silent = look(NULL);
	cr_expect_null(finding_of(silent, "CPU-POOR"), "50 %% is not below 50 %%");
	end();
	begin();
	threads_of(4, 900, 900, 0);
	finish(1000, 8);
	cleanup(findings) struct findings *fired = look(NULL);
	const struct finding *finding = finding_of(fired, "CPU-POOR");
	cr_assert(finding != NULL);
	cr_expect_float_eq(finding->value, 45, 0.01);
	cr_expect_eq(finding->saving_ns, 550 * MS);
}

Test(finding_cpu, one_thread_on_many_cpus)
{
	add(&f, 1, METRIC_ON_CPU, 1000, "main a.c:3 > work a.c:5");
	finish(1000, 8);
	cleanup(findings) struct findings *fired = look(NULL);
	const struct finding *finding = finding_of(fired, "CPU-SERIAL");
	cr_assert(finding != NULL);
	cr_expect_eq(finding->severity, SEVERITY_INFO);
	cr_expect_eq(finding->saving_ns, 875 * MS);
	end();
	begin();
	add(&f, 1, METRIC_ON_CPU, 1000, "main a.c:3 > work a.c:5");
	finish(1000, 2);
	cleanup(findings) struct findings *silent = look(NULL);
	cr_expect_null(finding_of(silent, "CPU-SERIAL"));
}

Test(finding_cpu, a_flat_profile)
{
	char stack[64];

	for (int i = 0; i < 25; i++) {
		snprintf(stack, sizeof(stack), "main a.c:3 > work%d a.c:%d", i, 10 + i);
		add(&f, 1, METRIC_ON_CPU, 40, stack);
	}
	finish(1000, 2);
	cleanup(findings) struct findings *silent = look(NULL);
	cr_expect_null(finding_of(silent, "CPU-FLAT"), "4.0 %% is not below 4 %%");
	add(&f, 1, METRIC_ON_CPU, 30, "main a.c:3 > other a.c:90");
	finish(1030, 2);
	cleanup(findings) struct findings *fired = look(NULL);
	cr_expect(finding_of(fired, "CPU-FLAT") != NULL);
}

// What optimized code does for such code is not slow for that.
Test(finding_cpu, callees_of_unoptimized_code_are_not_unoptimized)
{
	add(&f, 1, METRIC_ON_CPU, 900, "main a.c:3 > %slow a.c:11 > memcpy@libc");
	add(&f, 1, METRIC_ON_CPU, 100, "main a.c:3 > %slow a.c:11");
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	cr_expect_null(finding_of(findings, "CPU-DEBUG"));
}

// Four threads that each run for 125 ms of a second, as a quota lets them, and a run under that
// quota: throttled for MS, or the table says nothing.
static void throttle(const char *contention, uint32_t millicpus)
{
	struct run run;

	threads_of(4, 125, 125, 800);
	finish(1000, 2);
	run = *profile_run(f.profile);
	run.quota_millicpus = millicpus;
	run.quota_group = "/app";
	run.contention = contention;
	cr_assert(profile_set_run(f.profile, &run, NULL) == 0);
}

Test(finding_cpu, a_quota_of_its_control_group)
{
	throttle("1000000:750000:1500000:1000000:0", 500);
	cleanup(findings) struct findings *fired = look(NULL);
	const struct finding *finding = finding_of(fired, "CPU-QUOTA");
	cr_assert(finding != NULL);
	cr_expect_eq(finding->severity, SEVERITY_ERROR);
	cr_expect_float_eq(finding->value, 75, 0.1);
	cr_expect_str_eq(finding->fact, "throttled for 75 % of wall time by a quota of 0.5 CPU, "
	                                "which 4 threads share (control group /app)");
	cr_expect(strstr(finding->advice, "as many threads as it pays for: 1.") != NULL, "%s",
	          finding->advice);
	cr_expect_null(finding_of(fired, "CPU-OVERSUB"));
}

Test(finding_cpu, a_quota_that_takes_nothing)
{
	throttle("1000000:20000:20000:1000000:0", 500);
	cleanup(findings) struct findings *little = look(NULL);
	cr_expect_null(finding_of(little, "CPU-QUOTA"));
	end();
	begin();
	throttle("1000000:60000:60000:1000000:0", 500);
	cleanup(findings) struct findings *more = look(NULL);
	cr_assert(finding_of(more, "CPU-QUOTA") != NULL);
	cr_expect_eq(finding_of(more, "CPU-QUOTA")->severity, SEVERITY_WARN);
	end();
	begin();
	throttle(NULL, 0);
	cleanup(findings) struct findings *none = look(NULL);
	cr_expect_null(finding_of(none, "CPU-QUOTA"));
}
