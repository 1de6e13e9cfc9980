// SPDX-License-Identifier: MIT
// Findings on CPUs, threads and locks.
#include "tests/unit/finding_fixture.h"

#include "base/error.h"
#include "base/record.h"
#include "merge/query/query_waits.h"
#include "merge/rules/section.h"

#include <criterion/criterion.h>
#include <inttypes.h>
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

// Threads of one name, of which some begin in another function, and one never gets any work.
Test(finding_cpu, threads_of_one_kind_are_those_that_begin_in_one_function)
{
	for (unsigned i = 0; i < 6; i++)
		add_thread(&f, 10 + i, 1, 110 + i, "app");
	for (unsigned i = 0; i < 3; i++) { // done after 20 ms, which is less than a tenth
		add(&f, 10 + i, METRIC_ON_CPU, 20, "share_main a.c:9 > work a.c:31");
		profile_end_thread(
			f.profile,
			&(struct thread_end){ .thread = 10 + i, .time_ns = f.now_ns + 20 * MS });
	}
	add(&f, 13, METRIC_ON_CPU, 900, "share_main a.c:9 > work a.c:31");
	add(&f, 14, METRIC_ON_CPU, 300, "log_main a.c:20 > print a.c:41");
	add(&f, 15, METRIC_ON_CPU, 1, "share_main a.c:9 > work a.c:31");
	f.now_ns += 1000 * MS;
	profile_end_thread(f.profile, &(struct thread_end){ .thread = 13, .time_ns = f.now_ns });
	finish(1000, 8);
	cleanup(findings) struct findings *findings = look(NULL);
	const struct finding *finding = finding_of(findings, "CPU-IMBALANCE");
	cr_assert(finding != NULL);
	cr_expect_str_eq(finding->fact, "uneven load: 3 of 4 `share_main` threads are done after "
	                                "20.0 ms, the busiest works for 1.00 s");
}

// As of a server with a thread for each connection.
Test(finding_cpu, threads_that_begin_one_after_the_other_share_no_work)
{
	for (unsigned i = 0; i < 20; i++) {
		add_thread(&f, 10 + i, 1, 110 + i, "app");
		add(&f, 10 + i, METRIC_ON_CPU, 20, "serve a.c:9 > work a.c:31");
		f.now_ns += 20 * MS;
		profile_end_thread(f.profile,
		                   &(struct thread_end){ .thread = 10 + i, .time_ns = f.now_ns });
	}
	add_thread(&f, 40, 1, 140, "app");
	add(&f, 40, METRIC_ON_CPU, 1000, "serve a.c:9 > work a.c:31");
	f.now_ns += 1000 * MS;
	profile_end_thread(f.profile, &(struct thread_end){ .thread = 40, .time_ns = f.now_ns });
	finish(1400, 8);
	cleanup(findings) struct findings *findings = look(NULL);
	cr_expect_null(finding_of(findings, "CPU-IMBALANCE"));
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

// With fewer threads the same work keeps the CPUs as busy, for as long.
Test(finding_cpu, more_threads_than_cpus_cost_no_more_than_cpus_were_idle_or_spun)
{
	threads_of(4, 500, 500, 500); // all of 2 CPUs for a second
	threads_meet(4, 150, "run a.c:30 > meet a.c:32 > pthread_barrier_wait@libc");
	add(&f, 1, METRIC_OFF_RUNNABLE, 600, "main a.c:3");
	finish(1000, 2);
	cleanup(findings) struct findings *busy = look(NULL);
	cr_expect_null(finding_of(busy, "CPU-OVERSUB"));
	end();
	begin();
	threads_of(4, 350, 350, 500);
	add(&f, 13, METRIC_ON_CPU, 300, "run a.c:30 > spin a.c:33 > pthread_spin_lock@libc");
	threads_meet(4, 150, "run a.c:30 > meet a.c:32 > pthread_barrier_wait@libc");
	add(&f, 1, METRIC_OFF_RUNNABLE, 600, "main a.c:3");
	finish(1000, 2);
	cleanup(findings) struct findings *spins = look(NULL);
	const struct finding *finding = finding_of(spins, "CPU-OVERSUB");
	cr_assert(finding != NULL);
	cr_assert(finding_of(spins, "CPU-SPIN") != NULL);
	cr_expect_str_eq(finding_of(spins, "CPU-SPIN")->covered->id, "CPU-OVERSUB");
	// 300 ms of 2 CPUs were idle, 300 ms were spun.
	cr_expect_leq(finding->saving_ns, 300 * MS);
	cr_expect_geq(finding->saving_ns, 290 * MS);
}

// As four programs that import NumPy, whose pool of threads has nothing to do.
Test(finding_cpu, processes_that_work_side_by_side_do_not_wait_for_each_other)
{
	for (uint32_t i = 10; i < 14; i++) {
		add_process(&f, i, 200 + i, "kid");
		add_thread(&f, i, i, 200 + i, "kid");
		add_thread(&f, 10 + i, i, 300 + i, "kid");
		add(&f, i, METRIC_ON_CPU, 500, "main a.c:3 > work a.c:5");
		add(&f, i, METRIC_OFF_RUNNABLE, 500, "main a.c:3 > work a.c:5");
		add(&f, 10 + i, METRIC_OFF_LOCK, 1000, "pthread_cond_wait@libc");
	}
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	cr_expect_null(finding_of(findings, "CPU-OVERSUB"));
}

// Servers have a process for each client, which wait for each other's locks.
Test(finding_cpu, more_processes_than_cpus_are_no_matter_of_thread_pools)
{
	for (uint32_t i = 2; i < 6; i++) {
		add_process(&f, i, 200 + i, "kid");
		add_thread(&f, i, i, 200 + i, "kid");
		add(&f, i, METRIC_ON_CPU, 300, "main a.c:3 > work a.c:5");
		add(&f, i, METRIC_OFF_RUNNABLE, 500, "main a.c:3 > work a.c:5");
		add(&f, i, METRIC_OFF_LOCK, 200, "main a.c:3 > take a.c:6 > sem_wait@libc");
	}
	add(&f, 1, METRIC_OFF_RUNNABLE, 600, "main a.c:3");
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	const struct finding *finding = finding_of(findings, "CPU-OVERSUB");
	cr_assert(finding != NULL);
	cr_expect(strstr(finding->fact, "processes are ready to run at a time") != NULL, "%s",
	          finding->fact);
	cr_expect(strstr(finding->advice, "Run fewer processes") != NULL, "%s", finding->advice);
}

// Four threads from FROM_MS to TO_MS on two CPUs, two of which run at a time, in turns of 10 ms:
// all sort. The first one is the main thread.
static void crowd(uint64_t from_ms, uint64_t to_ms)
{
	const uint32_t threads[] = { 1, 2, 3, 4 };

	for (uint64_t ms = from_ms; ms < to_ms; ms += 10)
		for (uint32_t i = 0; i < 4; i++) {
			bool runs = i % 2 == ms / 10 % 2;
			f.now_ns = (ms + (runs ? 5 : 0)) * MS;
			add(&f, threads[i], runs ? METRIC_ON_CPU : METRIC_OFF_RUNNABLE, 10,
			    "main a.c:3 > put a.c:28 > qsort@libc");
			add_span(&f, threads[i], ms, ms + 10, runs ? THREAD_RUNS : THREAD_READY,
			         runs ? THREAD_READY : THREAD_RUNS);
		}
}

static void alone(uint64_t from_ms, uint64_t to_ms)
{
	for (uint64_t ms = from_ms; ms < to_ms; ms += 10) {
		f.now_ns = (ms + 5) * MS;
		add(&f, 1, METRIC_ON_CPU, 10, "main a.c:3 > find a.c:10 > regcomp@libc");
	}
	add_span(&f, 1, from_ms, to_ms, THREAD_RUNS, THREAD_READY);
}

// What was waited for CPUs is in the price of what had them: half of the crowded second is waited.
// The first second has no part of that, and both are all of the wall time.
Test(finding_cpu, a_price_has_what_its_code_made_the_run_wait_for_cpus)
{
	for (uint32_t i = 2; i <= 4; i++)
		add_thread(&f, i, 1, 100 + i, "sorter");
	add_span(&f, 1, 1000, 1000, THREAD_READY, THREAD_RUNS);
	alone(1000, 2000);
	for (uint32_t i = 2; i <= 4; i++) {
		f.now_ns = 1000 * MS;
		add(&f, i, METRIC_OFF_LOCK, 1000, "pthread_cond_wait@libc");
		add_span(&f, i, 1000, 2000, THREAD_BLOCKED, THREAD_READY);
	}
	crowd(2000, 3000);
	profile_end_wall(f.profile, 3000 * MS);
	// A second with one of the CPUs busy, and one with both.
	const struct run run = { .start_ns = 1000 * MS,
		                 .wall_ns = 2000 * MS,
		                 .command = "app",
		                 .cpus = 2,
		                 .samples = 1000,
		                 .contention = "1000000:0:0:1000000:0 2000000:0:0:2000000:0",
		                 .off_cpu_exact = true };
	name_all(&f);
	cr_assert(profile_set_run(f.profile, &run, NULL) == 0);
	cleanup(findings) struct findings *found = look(NULL);
	const struct finding *sorts = finding_of(found, "CPU-SORT");
	const struct finding *compiles = finding_of(found, "CPU-REGEX");

	cr_assert(sorts && compiles);
	cr_expect_float_eq((double)sorts->saving_ns / MS, 1000, 30);
	cr_expect_float_eq((double)compiles->saving_ns / MS, 1000, 30);
	cr_expect_leq(sorts->saving_ns + compiles->saving_ns, 2000 * MS);
}

static const char *other_stack = "flusher a.c:20 > other a.c:25";
static const char *held_stack = "flusher a.c:20 > flush_log a.c:18";
static bool crowded;               // two more threads do what the holder does, while it has no CPU
static const char *holder_process; // of its own; NULL: it is a thread of the same
static bool nests;                 // the holder waits for thread 5 itself, at a socket
static bool unseen;                // the main thread has waited for the same lock before, unseen
static uint32_t unseen_kind;       // what that was; 0: the same mutex
static bool serves;                // threads 7 and 8 wait for a lock that the holder has
static bool idles;                 // the main thread sleeps where it computes else
static const char *wait_stack = "main a.c:3 > save a.c:31 > pthread_mutex_lock@libc";

// Thread 2 waits for what thread 5 does, and holds what the main thread waits for.
static void wait_nested(uint64_t from_ms, uint64_t to_ms)
{
	const struct wait_share by = { to_ms * MS, 5, HELD_BY_OWNER };
	const struct wait_event wait = { .thread = 2,
		                         .begin_ns = from_ms * MS,
		                         .end_ns = to_ms * MS,
		                         .address = 77,
		                         .kind = WAIT_KIND_DESCRIPTOR,
		                         .count = 1,
		                         .parts = &by };

	f.now_ns = from_ms * MS;
	add(&f, 2, METRIC_OFF_NET, to_ms - from_ms,
	    "flusher a.c:20 > flush_log a.c:18 > read@libc");
	add_span(&f, 2, from_ms, to_ms, THREAD_BLOCKED, THREAD_RUNS);
	profile_take(f.profile, &(struct sampled){ .kind = SAMPLED_WAIT, .wait = &wait });
}

// The main thread waits for thread 6, which has no stack.
static void wait_unseen(uint64_t from_ms, uint64_t to_ms)
{
	const struct wait_share by = { to_ms * MS, 6, HELD_BY_OWNER };
	const struct wait_event wait = { .thread = 1,
		                         .begin_ns = from_ms * MS,
		                         .end_ns = to_ms * MS,
		                         .address = 0x1000,
		                         .kind = unseen_kind ? unseen_kind : HELD_MUTEX,
		                         .count = 1,
		                         .parts = &by };

	add_span(&f, 1, from_ms, to_ms, THREAD_BLOCKED, THREAD_RUNS);
	profile_take(f.profile, &(struct sampled){ .kind = SAMPLED_WAIT, .wait = &wait });
}

// Threads 7 and 8 wait for a mutex that thread 2 holds.
static void wait_locked(uint64_t from_ms, uint64_t to_ms)
{
	const struct wait_share by = { to_ms * MS, 2, HELD_BY_OWNER };

	for (uint32_t thread = 7; thread <= 8; thread++) {
		const struct wait_event wait = { .thread = thread,
			                         .begin_ns = from_ms * MS,
			                         .end_ns = to_ms * MS,
			                         .address = 0x2000,
			                         .kind = HELD_MUTEX,
			                         .count = 1,
			                         .parts = &by };
		f.now_ns = from_ms * MS;
		add(&f, thread, METRIC_OFF_LOCK, to_ms - from_ms,
		    "serve a.c:50 > pthread_mutex_lock@libc");
		add_span(&f, thread, from_ms, to_ms, THREAD_BLOCKED, THREAD_RUNS);
		profile_take(f.profile, &(struct sampled){ .kind = SAMPLED_WAIT, .wait = &wait });
	}
}

// The main thread computes for 1 s beside thread 2, then waits for HELD_MS, of KIND, for what that
// does, which lacks a CPU for the last READY_MS of them, and both compute up to the end of the 3 s.
static struct findings *hold_without_cpu(uint32_t kind, uint64_t held_ms, uint64_t ready_ms)
{
	const uint64_t end_ms = 2000 + held_ms, ready_from_ms = end_ms - ready_ms;
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
	if (holder_process)
		profile_add_process(f.profile, &(struct process_event){ .process = 2,
		                                                        .parent = 1,
		                                                        .pid = 102,
		                                                        .time_ns = f.now_ns,
		                                                        .command = holder_process,
		                                                        .title = holder_process });
	add_thread(&f, 2, holder_process ? 2 : 1, 102, "flusher");
	for (uint32_t i = 3; crowded && i <= 4; i++)
		add_thread(&f, i, 1, 100 + i, "flusher");
	if (nests)
		add_thread(&f, 5, 1, 105, "server");
	if (unseen)
		add_thread(&f, 6, 1, 106, "flusher");
	for (uint32_t i = 7; serves && i <= 8; i++) {
		add_thread(&f, i, 1, 100 + i, "server");
		add_span(&f, i, 1000, 1000, THREAD_READY, THREAD_BLOCKED);
	}
	add_span(&f, 1, 1000, 1000, THREAD_READY, unseen ? THREAD_BLOCKED : THREAD_RUNS);
	if (nests)
		add_span(&f, 5, 1000, 1000, THREAD_READY, THREAD_RUNS);
	if (unseen)
		add_span(&f, 6, 1000, 1000, THREAD_READY, THREAD_RUNS);
	add_span(&f, 2, 1000, 1000, THREAD_READY, THREAD_RUNS);
	for (uint64_t ms = 1000; ms < 4000; ms += 10) {
		f.now_ns = (ms + 5) * MS;
		if ((ms < 2000 && !(unseen && ms < 1900)) || ms >= end_ms)
			add(&f, 1, idles ? METRIC_OFF_SLEEP : METRIC_ON_CPU, 10,
			    "main a.c:3 > work a.c:9");
		if (nests)
			add(&f, 5, METRIC_ON_CPU, 10, "serve a.c:50");
		if ((ms < ready_from_ms && !(nests && ms >= 2000)) || ms >= end_ms)
			add(&f, 2, METRIC_ON_CPU, 10,
			    ms >= 2000 && ms < end_ms ? held_stack : other_stack);
		for (uint32_t i = 3; crowded && i <= 4; i++)
			if (ms >= ready_from_ms && ms < end_ms)
				add(&f, i, METRIC_ON_CPU, 10, held_stack);
		for (uint32_t i = 3; crowded && i <= 4; i++) {
			if (ms == 1000)
				add_span(&f, i, ms, ms, THREAD_READY, THREAD_BLOCKED);
			if (ms == ready_from_ms)
				add_span(&f, i, 1000, ms, THREAD_BLOCKED, THREAD_RUNS);
			if (ms == end_ms)
				add_span(&f, i, ready_from_ms, ms, THREAD_RUNS, THREAD_BLOCKED);
		}
		if (ready_ms && ms == ready_from_ms)
			add_span(&f, 2, 1000, ms, THREAD_RUNS, THREAD_READY);
		if (ready_ms && ms == end_ms) {
			f.now_ns = ready_from_ms * MS;
			add(&f, 2, METRIC_OFF_RUNNABLE, ready_ms, held_stack);
			add_span(&f, 2, ready_from_ms, ms, THREAD_READY, THREAD_RUNS);
		}
		if (ms == 2000)
			add_span(&f, 1, unseen ? 1900 : 1000, 2000, THREAD_RUNS, THREAD_BLOCKED);
		if (nests && ms == 2000)
			add_span(&f, 2, 1000, 2000, THREAD_RUNS, THREAD_BLOCKED);
		if (nests && ms == end_ms)
			wait_nested(2000, end_ms);
		if (serves && ms == end_ms)
			wait_locked(2100, end_ms);
		if (unseen && ms == 1900)
			wait_unseen(1000, 1900);
		if (unseen && serves && ms == 1900)
			add_span(&f, 6, 1000, 1900, THREAD_RUNS, THREAD_BLOCKED);
		if (ms == end_ms) {
			f.now_ns = 2000 * MS;
			add(&f, 1, METRIC_OFF_LOCK, held_ms, wait_stack);
			add_span(&f, 1, 2000, end_ms, THREAD_BLOCKED, THREAD_RUNS);
			profile_take(f.profile,
			             &(struct sampled){ .kind = SAMPLED_WAIT, .wait = &wait });
		}
	}
	profile_end_wall(f.profile, 4000 * MS);
	finish(3000, 2);
	return look(NULL);
}

static struct findings *hold(uint32_t kind, uint64_t held_ms)
{
	return hold_without_cpu(kind, held_ms, 0);
}

// One that cannot write waits as one that cannot read: for the process at the other end.
Test(finding_cpu, the_run_waits_for_the_other_end_of_a_pipe)
{
	cleanup(findings) struct findings *found = hold(WAIT_KIND_DESCRIPTOR, 900);
	const struct finding *finding = finding_of(found, "CPU-HOLDER");

	cr_assert(finding != NULL);
	cr_expect(strstr(finding->fact, "flush_log (a.c:18), while save waits for it at a pipe or "
	                                "socket at a.c:31"),
	          "%s", finding->fact);
}

// That the run waits for it is said; what can be done about it is another sentence.
Test(finding_cpu, the_other_end_of_a_pipe_has_advice_by_what_it_runs)
{
	static const struct {
		const char *process, *advice;
	} table[] = {
		{ NULL, "Give that end less work for each item" },
		{ "render", "Give render less work, or share it among several processes; "
		            "bottleneck report --process=render shows what it does." },
		{ "a $(b)", "Give that end less work for each item" },
		{ "gzip", "gzip -1" },
		{ "xz", "xz -1 -T0" },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		holder_process = table[i].process;
		cleanup(findings) struct findings *found = hold(WAIT_KIND_DESCRIPTOR, 900);
		const struct finding *finding = finding_of(found, "CPU-HOLDER");
		cr_assert(finding != NULL);
		cr_expect(strstr(finding->advice, table[i].advice) != NULL, "%s", finding->advice);
	}
}

// Who has hardly any work of its own, as grep behind a program, takes what that makes.
Test(finding_cpu, the_end_of_a_pipeline_is_no_reason_to_blame_its_beginning)
{
	idles = true;
	cleanup(findings) struct findings *found = hold(WAIT_KIND_DESCRIPTOR, 900);
	cr_expect_null(finding_of(found, "CPU-HOLDER"));
	cleanup(findings) struct findings *locked = hold(HELD_MUTEX, 900);
	cr_expect(finding_of(locked, "CPU-HOLDER") != NULL);
}

// A semaphore that its threads take and post in turns is a lock; what counts items is none.
Test(finding_cpu, one_holds_a_semaphore_that_is_used_as_a_lock)
{
	cleanup(findings) struct findings *found = hold(WAIT_KIND_LOCK, 900);
	const struct finding *finding = finding_of(found, "CPU-HOLDER");

	cr_assert(finding != NULL);
	cr_expect(strstr(finding->fact, "flush_log (a.c:18), which holds ") != NULL &&
	                  strstr(finding->fact, "semaphore") != NULL &&
	                  strstr(finding->fact, "while save waits for it at a.c:31") != NULL,
	          "%s", finding->fact);
	cr_expect_null(finding_of(found, "CPU-STAGE"));
	cleanup(findings) struct findings *counted = hold(HELD_SEMAPHORE, 900);
	cr_expect_null(finding_of(counted, "CPU-HOLDER"));
}

// multiprocessing.Lock is made of one; what else that library makes of them is none for the user.
Test(finding_cpu, a_lock_between_python_processes_is_one_where_the_user_takes_it)
{
	const struct {
		const char *stack, *says;
	} waits[] = {
		{ "{work a.py:31} > "
		  "{SemLock.__enter__ /usr/lib/python3.11/multiprocessing/synchronize.py:95} > "
		  "sem_wait@libc",
		  "which holds a Python lock while work waits for it at a.py:31" },
		{ "{work a.py:31} > "
		  "{__enter__ /usr/lib/python3.10/multiprocessing/synchronize.py:95} > "
		  "sem_wait@libc",
		  "which holds a Python lock while work waits for it at a.py:31" },
		{ "{work a.py:31} > {Queue.get /usr/lib/python3.11/multiprocessing/queues.py:102} > "
		  "{SemLock.__enter__ /usr/lib/python3.11/multiprocessing/synchronize.py:95} > "
		  "sem_wait@libc",
		  NULL },
	};

	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
		wait_stack = waits[i].stack;
		cleanup(findings) struct findings *found = hold(WAIT_KIND_LOCK, 900);
		const struct finding *finding = finding_of(found, "CPU-HOLDER");
		cr_assert_eq(!finding, !waits[i].says, "%s", wait_stack);
		cr_expect(!finding || strstr(finding->fact, waits[i].says), "%s", finding->fact);
	}
}

// That the interpreter does the work is less than that others wait for it.
Test(finding_cpu, a_lock_holder_comes_before_the_interpreter_that_runs_it)
{
	held_stack = "{flush_log <a.py>:18}";
	cleanup(findings) struct findings *found = hold(HELD_MUTEX, 900);
	const struct finding *general = finding_of(found, "PY-INTERP");

	cr_assert(general != NULL);
	cr_assert(general->covered != NULL);
	cr_expect_str_eq(general->covered->id, "CPU-HOLDER");
	cr_expect_str_eq(found->items[0].rule->id, "CPU-HOLDER");
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

// The run waits for the end of a thread that has the lock for as long as it lives, and so for none
// of those that wait for it.
Test(finding_cpu, a_lock_is_held_beside_what_the_run_waits_for)
{
	serves = true;
	cleanup(findings) struct findings *found = hold(HELD_JOIN, 1900);
	const struct finding *finding = finding_of(found, "CPU-HOLDER");

	cr_assert(finding != NULL);
	cr_expect_float_eq(finding->value, 100 * (1900 + 1800 - 3000) / 3000., 1);
	cr_expect_float_eq((double)finding->saving_ns / MS, 700, 30);
	cr_expect(strstr(finding->fact, "flush_log (a.c:18), which holds a mutex while 2 threads "
	                                "wait for it at a.c:50"),
	          "%s", finding->fact);
	cleanup(findings) struct findings *shorter = hold(HELD_JOIN, 1200);
	cr_expect_null(finding_of(shorter, "CPU-HOLDER"));
}

// What the holder waits for itself is why all others wait.
Test(finding_cpu, what_a_lock_is_held_over_is_the_holders)
{
	nests = true;
	cleanup(findings) struct findings *found = hold(HELD_MUTEX, 900);
	const struct finding *finding = finding_of(found, "CPU-HOLDER");

	cr_assert(finding != NULL);
	cr_expect_float_eq(finding->value, 30, 0.5);
	cr_expect_str_eq(finding->function, "flush_log");
	cr_expect(strstr(finding->advice, "The holder waits in read") != NULL, "%s",
	          finding->advice);
}

// Whose stack was not taken as it held the lock has held it where the others do.
Test(finding_cpu, holders_without_a_stack_hold_a_lock_where_others_do)
{
	unseen = true;
	cleanup(findings) struct findings *found = hold(HELD_MUTEX, 900);
	const struct finding *finding = finding_of(found, "CPU-HOLDER");

	cr_assert(finding != NULL);
	cr_expect_float_eq(finding->value, 60, 1);
}

// Of code that is all of others' a line of libc says least.
Test(finding_cpu, who_waits_in_foreign_code_is_named_by_that)
{
	const char *const stacks[][2] = {
		{ "{recv </usr/lib/python3.11/multiprocessing/connection.py>:378} > read@libc",
		  "while recv waits for it" },
		{ "clone@libc > GOMP_critical_start@libgomp > syscall@libc",
		  "while GOMP_critical_start waits for it" },
		{ "clone@libc > read@libc", "while read waits for it" },
	};

	for (size_t i = 0; i < sizeof(stacks) / sizeof(stacks[0]); i++) {
		wait_stack = stacks[i][0];
		cleanup(findings) struct findings *found = hold(HELD_MUTEX, 900);
		const struct finding *finding = finding_of(found, "CPU-HOLDER");
		cr_assert(finding != NULL, "%s", wait_stack);
		cr_expect(strstr(finding->fact, stacks[i][1]) != NULL, "%s", finding->fact);
	}
}

// The main thread and thread 2 hold one lock in turns of 10 ms, at two lines of one function: the
// main thread's own turns are of the same time.
Test(finding_cpu, a_lock_that_is_held_in_turns_is_all_of_the_run)
{
	static const char *const held[] = { "save a.c:30 > flush_log a.c:18",
		                            "save a.c:30 > flush_log a.c:19" };

	end();
	begin();
	add_thread(&f, 2, 1, 102, "flusher");
	add_span(&f, 1, 1000, 1000, THREAD_READY, THREAD_RUNS);
	add_span(&f, 2, 1000, 1000, THREAD_READY, THREAD_BLOCKED);
	for (uint64_t ms = 1000, i = 0; ms < 4000; ms += 10, i++) {
		uint32_t holder = 1 + i % 2, waiter = 3 - holder;
		const struct wait_share by = { (ms + 10) * MS, holder, HELD_BY_OWNER };
		const struct wait_event wait = { .thread = waiter,
			                         .begin_ns = ms * MS,
			                         .end_ns = (ms + 10) * MS,
			                         .address = 0x1000,
			                         .kind = HELD_MUTEX,
			                         .count = 1,
			                         .parts = &by };
		f.now_ns = ms * MS;
		add(&f, waiter, METRIC_OFF_LOCK, 10, "save a.c:31 > pthread_mutex_lock@libc");
		f.now_ns = (ms + 5) * MS;
		add(&f, holder, METRIC_ON_CPU, 10, held[i / 2 % 2]);
		add_span(&f, holder, ms, ms + 10, THREAD_RUNS, THREAD_BLOCKED);
		add_span(&f, waiter, ms, ms + 10, THREAD_BLOCKED, THREAD_RUNS);
		profile_take(f.profile, &(struct sampled){ .kind = SAMPLED_WAIT, .wait = &wait });
	}
	profile_end_wall(f.profile, 4000 * MS);
	finish(3000, 2);
	cleanup(findings) struct findings *found = look(NULL);
	const struct finding *finding = finding_of(found, "CPU-HOLDER");
	cr_assert(finding != NULL);
	cr_expect_str_eq(finding->function, "flush_log");
	cr_expect_float_eq(finding->value, 100, 2, "%f", finding->value);
	cr_expect_float_eq((double)finding->saving_ns / MS, 3000, 60);
}

// Databases put a session to sleep by a latch or a semaphore: what it waits for is a lock.
Test(finding_cpu, the_functions_of_a_lock_manager_say_what_is_waited_for)
{
	const struct {
		const char *stack, *says;
	} locks[] = {
		{ "main a.c:3 > save a.c:31 > XactLockTableWait@libc > LockAcquireExtended@libc > "
		  "epoll_wait@libc",
		  "which holds a row lock while save waits for it" },
		{ "main a.c:3 > save a.c:31 > LockRelationOid@libc > LockAcquireExtended@libc > "
		  "epoll_wait@libc",
		  "which holds a table lock while save waits for it" },
		{ "main a.c:3 > save a.c:31 > WaitLatch@libc > epoll_wait@libc", NULL },
	};

	for (size_t i = 0; i < sizeof(locks) / sizeof(locks[0]); i++) {
		wait_stack = locks[i].stack;
		cleanup(findings) struct findings *found = hold(HELD_SEMAPHORE, 900);
		const struct finding *finding = finding_of(found, "CPU-HOLDER");
		cr_assert_eq(!finding, !locks[i].says, "%s", wait_stack);
		cr_expect(!finding || strstr(finding->fact, locks[i].says), "%s", finding->fact);
		cr_expect_eq(!finding, finding_of(found, "CPU-STAGE") != NULL, "%s", wait_stack);
	}
}

// Two sessions wait for signals of thread 2, by turns of 20 ms. One wait in four has a stack: those
// of STACKS, in turns.
static struct findings *wait_as_sessions(const char *const stacks[2])
{
	end();
	begin();
	for (uint32_t thread = 2; thread <= 4; thread++) {
		add_thread(&f, thread, 1, 100 + thread, "session");
		add_span(&f, thread, 1000, 1000, THREAD_READY,
		         thread == 2 ? THREAD_RUNS : THREAD_BLOCKED);
	}
	add_span(&f, 1, 1000, 1000, THREAD_READY, THREAD_RUNS);
	for (uint64_t ms = 1000, i = 0; ms < 4000; ms += 20, i++) {
		for (uint32_t thread = 3; thread <= 4; thread++) {
			const bool seen = i % 4 == 0;
			const struct signal_event signal = {
				.thread = 2, .process = 1, .to = thread, .time_ns = (ms + 18) * MS
			};
			const struct span_event span = { .thread = thread,
				                         .from_ns = ms * MS,
				                         .to_ns = (ms + 19) * MS,
				                         .state = THREAD_BLOCKED,
				                         .next = THREAD_RUNS,
				                         .cause = seen ? METRIC_OFF_NET
				                                       : METRIC_OFF_OTHER };
			profile_take(f.profile, &(struct sampled){ .kind = SAMPLED_SIGNAL,
			                                           .signal = &signal });
			f.now_ns = ms * MS;
			if (seen)
				add(&f, thread, METRIC_OFF_NET, 19, stacks[i / 4 % 2]);
			profile_take(f.profile,
			             &(struct sampled){ .kind = SAMPLED_SPAN, .span = &span });
			add_span(&f, thread, ms + 19, ms + 20, THREAD_RUNS, THREAD_BLOCKED);
		}
		f.now_ns = (ms + 19) * MS;
		add(&f, 1, METRIC_ON_CPU, 20, "main a.c:3 > work a.c:9");
		add(&f, 2, METRIC_ON_CPU, 20, "session a.c:20 > commit a.c:18");
	}
	profile_end_wall(f.profile, 4000 * MS);
	finish(3000, 2);
	return look(NULL);
}

// Whoever holds the lock has it on no way to what the run waits for; most waits have no stack.
Test(finding_cpu, sessions_of_a_database_wait_for_each_other)
{
	static const char lock[] = "serve a.c:50 > XactLockTableWait@libc > epoll_wait@libc";
	static const char tuple[] = "serve a.c:50 > LockTuple@libc > epoll_wait@libc";
	static const char other[] = "serve a.c:50 > WaitLatch@libc > epoll_wait@libc";
	static const char light[] = "serve a.c:50 > LWLockAcquire@libc > epoll_wait@libc";
	const struct {
		const char *stacks[2];
		const char *says;
	} cases[] = {
		{ { lock, lock }, "2 sessions of the database wait for a row lock for 9" },
		{ { lock, tuple }, "2 sessions of the database wait for a row lock for 9" },
		{ { lock, other }, NULL },
		{ { light, light }, NULL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cleanup(findings) struct findings *found = wait_as_sessions(cases[i].stacks);
		const struct finding *finding = finding_of(found, "CPU-HOLDER");
		cr_assert_eq(!finding, !cases[i].says, "%s", cases[i].stacks[1]);
		if (!finding)
			continue;
		cr_expect(strstr(finding->fact, cases[i].says) != NULL, "%s", finding->fact);
		cr_expect(strstr(finding->fact, "on average") != NULL, "%s", finding->fact);
		cr_expect(strstr(finding->fact, "fsync") == NULL, "%s", finding->fact);
		cr_expect_eq(finding->saving_low_ns, 0);
		cr_expect_geq(finding->saving_ns, 2600 * MS);
	}
}

// Runtimes that ask the kernel themselves call nothing that the agent knows: the functions in which
// their threads wait say what kind of lock it is.
Test(finding_cpu, the_functions_of_a_runtime_tell_the_kind_of_its_lock)
{
	const struct {
		const char *stack, *says;
	} locks[] = {
		{ "main a.c:3 > save a.c:31 > futex_mutex_lock_contended@libc > "
		  "syscall@libc",
		  "which holds a mutex while save waits for it" },
		{ "main a.c:3 > save a.c:31 > sync.(*RWMutex).Lock@libc > syscall@libc",
		  "which holds a read-write lock while save waits for it" },
		{ "main a.c:3 > save a.c:31 > flock@libc",
		  "which holds a file lock while save waits for it" },
		{ "main a.c:3 > save a.c:31 > lockf@libc > fcntl64@libc",
		  "which holds a file lock while save waits for it" },
		{ "main a.c:3 > save a.c:31 > flockfile@libc > syscall@libc", NULL },
		{ "main a.c:3 > save a.c:31 > mutex_wait_in@libc > "
		  "futex_condvar_wait@libc > syscall@libc",
		  NULL },
		{ "main a.c:3 > save a.c:31 > syscall@libc", NULL },
	};

	for (size_t i = 0; i < sizeof(locks) / sizeof(locks[0]); i++) {
		wait_stack = locks[i].stack;
		cleanup(findings) struct findings *found = hold(0, 900);
		const struct finding *finding = finding_of(found, "CPU-HOLDER");
		cr_assert_eq(!finding, !locks[i].says, "%s", wait_stack);
		cr_expect(!finding || strstr(finding->fact, locks[i].says), "%s", finding->fact);
	}
}

// 0.9 s of 3 s are held, for 0.16 s of which it has no CPU: these are not in the price, nor, as
// more than 5 % of all, in the time that the share is of.
Test(finding_cpu, price_of_what_lacks_a_cpu_is_its_own_time)
{
	const uint32_t kinds[] = { HELD_MUTEX, HELD_CONDITION };
	const char *const ids[] = { "CPU-HOLDER", "CPU-STAGE" };

	for (int i = 0; i < 2; i++) {
		cleanup(findings) struct findings *found = hold_without_cpu(kinds[i], 900, 160);
		const struct finding *finding = finding_of(found, ids[i]);
		cr_assert(finding != NULL, "%s", ids[i]);
		cr_expect_float_eq(finding->value, 25.9, 0.5, "%s: %f", ids[i], finding->value);
		cr_expect_float_eq((double)finding->saving_ns / MS, 740, 15, "%s: %" PRIu64, ids[i],
		                   finding->saving_ns / MS);
	}
}

// What is called a share of wall time is one of all of it.
Test(finding_cpu, few_waits_for_a_cpu_are_a_part_of_the_run)
{
	cleanup(findings) struct findings *found = hold_without_cpu(HELD_MUTEX, 900, 100);
	const struct finding *finding = finding_of(found, "CPU-HOLDER");

	cr_assert(finding != NULL);
	cr_expect(strstr(finding->fact, "excluding") == NULL, "%s", finding->fact);
	cr_expect_float_eq(finding->value, 100 * 800.0 / 3000, 0.5, "%f", finding->value);
}

// While the holder has no CPU others do the same: that they had the CPUs is a part of its price.
Test(finding_cpu, a_holder_is_priced_with_what_it_made_the_run_wait_for_cpus)
{
	const struct run run = { .start_ns = 1000 * MS,
		                 .wall_ns = 3000 * MS,
		                 .command = "app",
		                 .cpus = 2,
		                 .samples = 1000,
		                 .contention = "1000000:0:0:2000000:0 2000000:0:0:1250000:0 "
		                               "3000000:0:0:2000000:0",
		                 .off_cpu_exact = true };

	crowded = true;
	findings_free(hold_without_cpu(HELD_MUTEX, 900, 150));
	name_all(&f);
	cr_assert(profile_set_run(f.profile, &run, NULL) == 0);
	cleanup(findings) struct findings *found = look(NULL);
	const struct finding *finding = finding_of(found, "CPU-HOLDER");
	cr_assert(finding != NULL);
	cr_expect_float_eq((double)finding->saving_ns / MS, 890, 15, "%" PRIu64,
	                   finding->saving_ns / MS);
}

// Runs of 1,000 samples, of which each is with the same chance in the place that a finding is
// about: the time that this place really has is in the range of the price nineteen times of twenty.
Test(finding_cpu, the_range_of_a_price_has_the_planted_truth)
{
	const unsigned runs = 200, truth = 400;
	unsigned within = 0;
	uint64_t widest = 0, seed = 1;

	for (unsigned run = 0; run < runs; run++) {
		end();
		begin();
		for (unsigned i = 0; i < 1000; i++) {
			seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
			add(&f, 1, METRIC_ON_CPU, 1,
			    (seed >> 33) % 1000 < truth ? "main a.c:3 > save a.c:9 > memmove@libc"
			                                : "main a.c:3 > work a.c:5");
		}
		finish(1000, 2);
		cleanup(findings) struct findings *found = look(NULL);
		const struct finding *finding = finding_of(found, "MEM-COPY");
		cr_assert(finding != NULL);
		uint64_t low = finding->saving_low_ns, high = finding->saving_high_ns;
		within += low <= truth * MS && truth * MS <= high;
		widest = high - low > widest ? high - low : widest;
	}
	cr_expect(within >= runs * 90 / 100 && within < runs, "%u of %u", within, runs);
	cr_expect(widest < 85 * MS, "%" PRIu64, widest / MS); // 13 of them as runs differ
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

// Who ends a wait without a stack of its own may have been in that place.
Test(finding_cpu, waits_without_a_stack_contradict_no_stage)
{
	serves = true;
	cleanup(findings) struct findings *locked = hold(HELD_CONDITION, 900);
	cr_expect_null(finding_of(locked, "CPU-STAGE")); // 1.6 s for a lock that it holds
	unseen = true;
	unseen_kind = HELD_CONDITION;
	cleanup(findings) struct findings *found = hold(HELD_CONDITION, 900);
	cr_expect(finding_of(found, "CPU-STAGE") != NULL);
}

// Python waits for the end of a thread at a lock, as for an item of a queue: the thread is no
// stage.
Test(finding_cpu, a_python_thread_that_is_joined_is_no_stage)
{
	const struct {
		const char *stack;
		bool is_stage;
	} waits[] = {
		{ "{work <a.py>:31} > {Thread.join </usr/lib/python3.11/threading.py>:1112} > "
		  "sem_clockwait@libc",
		  false },
		{ "{work <a.py>:31} > {Queue.get </usr/lib/python3.11/queue.py>:171} > "
		  "sem_clockwait@libc",
		  true },
	};

	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
		wait_stack = waits[i].stack;
		cleanup(findings) struct findings *found = hold(HELD_SEMAPHORE, 900);
		cr_expect_eq(finding_of(found, "CPU-STAGE") != NULL, waits[i].is_stage, "%s",
		             wait_stack);
	}
}

// Which system calls it takes to be slow is its own affair.
Test(finding_cpu, a_slow_stage_comes_before_kernel_time)
{
	held_stack = "flusher a.c:20 > flush_log a.c:18 > do_syscall_64@kernel";
	cleanup(findings) struct findings *found = hold(HELD_CONDITION, 900);
	const struct finding *general = finding_of(found, "CPU-SYS");

	cr_assert(general != NULL);
	cr_expect_str_eq(general->covered->id, "CPU-STAGE");
	cr_expect_str_eq(found->items[0].rule->id, "CPU-STAGE");
	cr_expect_leq(general->saving_ns, 3000 * MS);
}

Test(finding_cpu, a_part_that_is_not_divided_among_threads)
{
	cleanup(findings) struct findings *found = hold(HELD_JOIN, 1200);
	const struct finding *finding = finding_of(found, "CPU-ALONE");

	cr_assert(finding != NULL);
	cr_expect_float_eq(finding->value, 40, 0.5);
	cr_expect_str_eq(finding->function, "flush_log");
	cr_expect(strstr(finding->fact,
	                 "while no other thread has work; 2 CPUs that share its "
	                 "work, or do other work meanwhile, save at most 20 %") != NULL,
	          "%s", finding->fact);
	// An idle CPU takes over half of it at best, and none if it cannot be divided.
	cr_expect_float_eq((double)finding->saving_ns / MS, 600, 15);
	cr_expect_eq(finding->saving_low_ns, 0);
	// Less work there saves all of it, as far as samples and other runs tell.
	cr_expect_geq(finding->saving_high_ns, 1200 * MS);
	cr_expect_leq(finding->saving_high_ns, 1400 * MS, "%" PRIu64, finding->saving_high_ns / MS);
	cleanup(findings) struct findings *shorter = hold(HELD_JOIN, 800); // 27 %
	cr_expect_null(finding_of(shorter, "CPU-ALONE"));
	cleanup(findings) struct findings *stage = hold(HELD_CONDITION, 1200);
	cr_assert(finding_of(stage, "CPU-ALONE") != NULL);
	cr_expect_str_eq(finding_of(stage, "CPU-ALONE")->covered->id, "CPU-STAGE");
}

// Nobody splits the work of a program that has options for that.
Test(finding_cpu, a_known_program_that_works_alone_has_advice_of_its_own)
{
	holder_process = "gzip a.bin";
	cleanup(findings) struct findings *found = hold(HELD_JOIN, 1200);
	const struct finding *finding = finding_of(found, "CPU-ALONE");

	cr_assert(finding != NULL);
	cr_expect(strstr(finding->advice, "gzip -1") != NULL, "%s", finding->advice);
	cr_expect_float_eq((double)finding->saving_ns / MS, 1200, 30); // by less work
	struct parallel parallel;
	query_parallel(f.profile, 0, 0, &parallel);
	cr_expect_str_eq(parallel.process, "gzip a.bin");
	cr_expect_str_eq(parallel.process_at.function, "flush_log");
	cr_expect_eq(parallel.process_at.line, 18);
	cr_expect_gt(2 * parallel.process_at_ns, parallel.process_ns);
}

// Of a tool without symbols all that is known is its process: the shell is not to blame, and no
// function is.
Test(finding_cpu, a_tool_that_works_alone_is_named_as_a_process)
{
	static const struct {
		const char *title, *stack;
	} rows[] = { { "sort big", "sort@libc" }, { "awk {print}", "mawk@libc" } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		holder_process = rows[i].title;
		held_stack = rows[i].stack;
		cleanup(findings) struct findings *found = hold(HELD_JOIN, 1200);
		const struct finding *finding = finding_of(found, "CPU-ALONE");
		char process[64];

		cr_assert(finding != NULL, "%s", rows[i].title);
		snprintf(process, sizeof(process), "process %s (", rows[i].title);
		cr_expect(strstr(finding->fact, process) == finding->fact, "%s", finding->fact);
		cr_expect(strstr(finding->advice, "LC_ALL=C") != NULL, "%s", finding->advice);
	}
}

// Its functions come first: nobody divides what has no name.
Test(finding_cpu, code_of_a_jit_compiler_that_works_alone_is_said_to_be_that)
{
	held_stack = "[jit]";
	cleanup(findings) struct findings *found = hold(HELD_JOIN, 1200);
	const struct finding *finding = finding_of(found, "CPU-ALONE");

	cr_assert(finding != NULL);
	cr_expect(strstr(finding->fact, "code without symbols that a JIT compiler made works alone "
	                                "for 40 %") == finding->fact,
	          "%s", finding->fact);
	cr_expect(strstr(finding->advice, "profile with --names. Split") != NULL, "%s",
	          finding->advice);
}

Test(finding_cpu, who_is_kept_out_of_a_lock_has_something_to_do)
{
	const uint32_t kinds[] = { WAIT_KIND_GIL, HELD_MUTEX, HELD_RWLOCK };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		cleanup(findings) struct findings *found = hold(kinds[i], 1200);
		cr_expect_null(finding_of(found, "CPU-ALONE"), "%u", kinds[i]);
		cr_expect_null(finding_of(found, "CPU-STAGE"), "%u", kinds[i]);
	}
}

// As those of OpenBLAS do for a while when they have begun: the program has but one thread.
Test(finding_cpu, threads_of_a_pool_that_look_for_work_do_none)
{
	other_stack = "flusher a.c:20 > sched_yield@libc";
	cleanup(findings) struct findings *found = hold(HELD_JOIN, 1200);
	cr_expect_null(finding_of(found, "CPU-ALONE"));
}

// Nor does one that would only look if it had a CPU.
Test(finding_cpu, threads_of_a_pool_that_wait_for_a_cpu_to_look_for_work_take_no_turns)
{
	static const char *const stacks[] = { "pool a.c:20 > sched_yield@libc",
		                              "pool a.c:20 > other a.c:25" };
	const struct wait_share by = { 4000 * MS, 2, HELD_BY_OWNER };
	const struct wait_event wait = { .thread = 1,
		                         .begin_ns = 3700 * MS,
		                         .end_ns = 4000 * MS,
		                         .kind = HELD_JOIN,
		                         .count = 1,
		                         .parts = &by };

	for (size_t i = 0; i < 2; i++) {
		end();
		begin();
		add_thread(&f, 2, 1, 102, "pool");
		add_span(&f, 1, 1000, 1000, THREAD_READY, THREAD_RUNS);
		add_span(&f, 2, 1000, 1000, THREAD_READY, THREAD_READY);
		for (uint64_t ms = 1000; ms < 4000; ms += 10) {
			f.now_ns = (ms + 5) * MS;
			if (ms < 3700)
				add(&f, 1, METRIC_ON_CPU, 10, "main a.c:3 > work a.c:9");
			else
				add(&f, 2, METRIC_ON_CPU, 10, "pool a.c:20 > part a.c:28");
			if (ms == 1290) {
				f.now_ns = 1000 * MS;
				add(&f, 2, METRIC_OFF_RUNNABLE, 300, stacks[i]);
				add_span(&f, 2, 1000, 1300, THREAD_READY, THREAD_BLOCKED);
			}
		}
		add_span(&f, 1, 1000, 3700, THREAD_RUNS, THREAD_BLOCKED);
		add_span(&f, 2, 1300, 3700, THREAD_BLOCKED, THREAD_RUNS);
		f.now_ns = 3700 * MS;
		add(&f, 1, METRIC_OFF_LOCK, 300, wait_stack);
		add_span(&f, 1, 3700, 4000, THREAD_BLOCKED, THREAD_RUNS);
		profile_take(f.profile, &(struct sampled){ .kind = SAMPLED_WAIT, .wait = &wait });
		profile_end_wall(f.profile, 4000 * MS);
		finish(3000, 2);
		cleanup(findings) struct findings *found = look(NULL);
		cr_expect_eq(finding_of(found, "CPU-ALONE") != NULL, i == 1, "%s", stacks[i]);
	}
}

Test(finding_cpu, what_is_imported_alone_is_told_as_imports)
{
	held_stack = "{<module> app.py:4} > {_find_and_load <frozen importlib._bootstrap>:1027} > "
		     "PyInit_lib@libc";
	cleanup(findings) struct findings *found = hold(HELD_JOIN, 1200);
	cr_expect_null(finding_of(found, "CPU-ALONE"));
}

// The main thread loads for 1.2 s and waits for the end of threads 2 and 3, which share one CPU for
// 1.8 s.
static void take_turns(void)
{
	const struct wait_share by = { 4000 * MS, 2, HELD_BY_OWNER };
	const struct wait_event wait = { .thread = 1,
		                         .begin_ns = 2200 * MS,
		                         .end_ns = 4000 * MS,
		                         .kind = HELD_JOIN,
		                         .count = 1,
		                         .parts = &by };

	add_span(&f, 1, 1000, 1000, THREAD_READY, THREAD_RUNS);
	for (uint64_t ms = 1000; ms < 2200; ms += 10) {
		f.now_ns = (ms + 5) * MS;
		add(&f, 1, METRIC_ON_CPU, 10, "main a.c:3 > load a.c:9");
	}
	f.now_ns = 2200 * MS;
	add_thread(&f, 2, 1, 102, "app");
	add_thread(&f, 3, 1, 103, "app");
	add_span(&f, 1, 1000, 2200, THREAD_RUNS, THREAD_BLOCKED);
	for (uint64_t ms = 2200; ms < 4000; ms += 100) {
		uint32_t runs = ms / 100 % 2 ? 2 : 3, waits = 5 - runs;
		if (ms > 2200)
			add_span(&f, waits, ms - 100, ms, THREAD_RUNS, THREAD_READY);
		add_span(&f, runs, ms > 2200 ? ms - 100 : ms, ms, THREAD_READY, THREAD_RUNS);
		for (int i = 0; i < 10; i++) {
			f.now_ns = (ms + 5 + 10 * i) * MS;
			add(&f, runs, METRIC_ON_CPU, 10, "solve a.c:20");
		}
		f.now_ns = ms * MS;
		add(&f, waits, METRIC_OFF_RUNNABLE, 100, "solve a.c:20");
	}
	f.now_ns = 2200 * MS;
	add(&f, 1, METRIC_OFF_LOCK, 1800, "main a.c:3 > pthread_join@libc");
	add_span(&f, 1, 2200, 4000, THREAD_BLOCKED, THREAD_RUNS);
	profile_take(f.profile, &(struct sampled){ .kind = SAMPLED_WAIT, .wait = &wait });
	profile_end_wall(f.profile, 4000 * MS);
	finish(3000, 2);
}

Test(finding_cpu, threads_that_run_in_turns_for_want_of_a_cpu_are_parallel)
{
	struct parallel parallel;

	take_turns();
	query_parallel(f.profile, 0, 0, &parallel);
	cr_expect_eq(parallel.one_ns, 3000 * MS);
	cr_expect_eq(parallel.serial_ns, 1200 * MS);
	cleanup(findings) struct findings *findings = look(NULL);
	const struct finding *finding = finding_of(findings, "CPU-ALONE");
	cr_assert(finding != NULL);
	cr_expect_str_eq(finding->function, "load");
	cr_expect_float_eq((double)finding->saving_ns / MS, 600, 15);
}

// Thread 1 has a sample of 20 ms at the end of 12 ms that it runs alone, after 8 ms beside
// thread 2.
Test(finding_cpu, nobody_is_alone_for_longer_than_one_thread_runs)
{
	struct parallel parallel;

	add_thread(&f, 2, 1, 102, "app");
	for (uint64_t ms = 1000; ms < 2000; ms += 20) {
		add_span(&f, 1, ms, ms, THREAD_READY, THREAD_RUNS);
		add_span(&f, 2, ms, ms, THREAD_READY, THREAD_RUNS);
		add_span(&f, 2, ms, ms + 8, THREAD_RUNS, THREAD_BLOCKED);
		f.now_ns = (ms + 9) * MS;
		add(&f, 1, METRIC_ON_CPU, 20, "main a.c:3 > load a.c:9");
		add_span(&f, 1, ms, ms + 20, THREAD_RUNS, THREAD_READY);
		add_span(&f, 2, ms + 8, ms + 20, THREAD_BLOCKED, THREAD_READY);
	}
	profile_end_wall(f.profile, 2000 * MS);
	finish(1000, 2);
	query_parallel(f.profile, 0, 0, &parallel);
	cr_expect_eq(parallel.one_ns, 600 * MS);
	cr_expect_float_eq((double)parallel.alone_ns / MS, 600, 1);
}

// Windows of who waits and who is alone add up to the whole run, and findings cost no more than
// there is in the window.
Test(finding_cpu, of_a_window_findings_cost_what_it_has)
{
	static const uint64_t cuts[] = { 0, 400, 1000, 1777, 2500, 3000 };
	uint64_t waited = 0, one = 0, serial = 0, alone = 0;
	struct parallel all;

	take_turns();
	cleanup(wait_rows) struct wait_rows *whole = query_waits(f.profile, 0, 0, NULL);
	query_parallel(f.profile, 0, 0, &all);
	cr_assert(whole && whole->ns > 0 && whole->whole_run);
	for (size_t i = 0; i + 1 < sizeof(cuts) / sizeof(cuts[0]); i++) {
		uint64_t from = cuts[i] * MS, to = i == 4 ? 0 : cuts[i + 1] * MS;
		struct parallel part;
		cleanup(wait_rows) struct wait_rows *rows = query_waits(f.profile, from, to, NULL);
		query_parallel(f.profile, from, to, &part);
		cr_assert(rows && !rows->whole_run && !part.whole_run);
		waited += rows->ns;
		one += part.one_ns;
		serial += part.serial_ns;
		alone += part.alone_ns;
		for (size_t row = 0; row < rows->count; row++)
			cr_expect(rows->rows[row].longest_ns <= rows->rows[row].ns);
		struct error err = { 0 };
		struct query query = { .from_ns = from, .to_ns = to };
		cleanup(findings) struct findings *findings =
			query_findings(f.profile, &query, NULL, &err);
		cr_assert(findings != NULL, "%s", err.text);
		for (size_t k = 0; k < findings->count; k++) {
			const struct finding *finding = &findings->items[k];
			uint64_t length = (cuts[i + 1] - cuts[i]) * MS;
			cr_expect(finding->saving_ns <= length, "%s costs %lu ms of %lu",
			          finding->rule->id, (unsigned long)(finding->saving_ns / MS),
			          (unsigned long)(length / MS));
			cr_expect(strcmp(finding->rule->id, "CPU-ALONE") != 0 ||
			          finding->saving_ns <= part.alone_ns);
		}
	}
	cr_expect_float_eq((double)waited / MS, (double)whole->ns / MS, 0.1);
	cr_expect_float_eq((double)one / MS, (double)all.one_ns / MS, 0.1);
	cr_expect_float_eq((double)serial / MS, (double)all.serial_ns / MS, 0.1);
	cr_expect_float_eq((double)alone / MS, (double)all.alone_ns / MS, 20);
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

// The main thread computes for 0.4 s, and waits 0.6 s for thread 2, which computes for 0.9 s in all
// and lacks a CPU for 0.1 s. That the run's wall time is thread 2's, too, makes their work no more
// even.
Test(finding_cpu, a_loop_is_uneven_by_what_its_own_thread_computes)
{
	const struct wait_share by = { 2000 * MS, 2, HELD_BY_OWNER };
	const struct wait_event wait = { .thread = 1,
		                         .begin_ns = 1400 * MS,
		                         .end_ns = 2000 * MS,
		                         .address = 0x1000,
		                         .kind = HELD_BARRIER,
		                         .count = 1,
		                         .parts = &by };

	add_thread(&f, 2, 1, 102, "app");
	add_span(&f, 1, 1000, 1000, THREAD_READY, THREAD_RUNS);
	add_span(&f, 2, 1000, 1000, THREAD_READY, THREAD_RUNS);
	for (uint64_t ms = 1000; ms < 2000; ms += 10) {
		f.now_ns = (ms + 5) * MS;
		if (ms < 1400)
			add(&f, 1, METRIC_ON_CPU, 10, "main a.c:3 > loop a.c:40");
		if (ms == 1400)
			add_span(&f, 1, 1000, 1400, THREAD_RUNS, THREAD_BLOCKED);
		if (ms == 1500)
			add_span(&f, 2, 1000, 1500, THREAD_RUNS, THREAD_READY);
		if (ms == 1600)
			add_span(&f, 2, 1500, 1600, THREAD_READY, THREAD_RUNS);
		if (ms < 1500 || ms >= 1600)
			add(&f, 2, METRIC_ON_CPU, 10, "loop a.c:40");
	}
	add(&f, 2, METRIC_OFF_RUNNABLE, 100, "loop a.c:40");
	f.now_ns = 1400 * MS;
	add(&f, 1, METRIC_OFF_LOCK, 600, "main a.c:3 > loop a.c:39 > GOMP_parallel@libgomp");
	add_span(&f, 1, 1400, 2000, THREAD_BLOCKED, THREAD_RUNS);
	profile_take(f.profile, &(struct sampled){ .kind = SAMPLED_WAIT, .wait = &wait });
	profile_end_wall(f.profile, 2000 * MS);
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	cr_expect(finding_of(findings, "CPU-LOOPS") != NULL);
}

// The main thread works for 100 ms in loops of which it also spends 600 ms in OpenMP's runtime, the
// other one works for WORK_MS and lacks a CPU for QUEUE_MS.
static struct findings *look_at_loops(uint64_t work_ms, uint64_t queue_ms)
{
	end();
	begin();
	add_thread(&f, 2, 1, 102, "app");
	add(&f, 1, METRIC_ON_CPU, 100, "main a.c:3 > loop a.c:40");
	add(&f, 1, METRIC_ON_CPU, 600, "main a.c:3 > loop a.c:39 > GOMP_parallel@libgomp");
	add(&f, 2, METRIC_ON_CPU, work_ms, "loop a.c:40");
	add(&f, 2, METRIC_ON_CPU, 600 - work_ms, "gomp_thread_start@libgomp");
	if (queue_ms)
		add(&f, 2, METRIC_OFF_RUNNABLE, queue_ms, "gomp_thread_start@libgomp");
	finish(700, 2);
	return look(NULL);
}

Test(finding_cpu, loops_are_too_short_that_take_longer_to_begin_and_end_than_to_work)
{
	cleanup(findings) struct findings *findings = look_at_loops(100, 0);
	const struct finding *finding = finding_of(findings, "CPU-SHORT");

	cr_assert(finding != NULL);
	cr_expect_str_eq(finding->function, "loop");
	cr_expect_eq(finding->saving_ns, 600 * MS);
	const struct finding *general = finding_of(findings, "CPU-LOOPS");
	cr_expect(!general || general->covered == finding->rule);
	cleanup(findings) struct findings *late = look_at_loops(600, 0);
	cr_expect_null(finding_of(late, "CPU-SHORT"), "the other one is late");
	cleanup(findings) struct findings *starved = look_at_loops(100, 550);
	cr_expect_null(finding_of(starved, "CPU-SHORT"), "for want of a CPU");
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
	cr_expect_eq(strstr(finding->advice, "waits in fsync for 0.40 s") != NULL, told,
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

// Time in the kernel whose functions are not seen may be that of one.
Test(finding_cpu, a_profile_that_is_mostly_in_the_kernel_is_not_flat)
{
	static const char *const marks[] = { "[kernel]", "[fault]" };

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		char stack[64];
		end();
		begin();
		add(&f, 1, METRIC_ON_CPU, 30, "main a.c:3 > other a.c:90");
		snprintf(stack, sizeof(stack), "main a.c:3 > work a.c:9 > %s", marks[i]);
		add(&f, 1, METRIC_ON_CPU, 970, stack);
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		cr_expect_null(finding_of(findings, "CPU-FLAT"), "%s", marks[i]);
	}
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
	cr_expect(strstr(finding->advice, "only as many threads as it has CPUs: 1.") != NULL, "%s",
	          finding->advice);
	cr_expect_null(finding_of(fired, "CPU-OVERSUB"));
}

Test(finding_cpu, threads_that_are_bound_to_one_cpu)
{
	for (uint32_t cpus = 1; cpus <= 2; cpus++) {
		end();
		begin();
		threads_of(2, 500, 500, 500);
		finish(1000, 2);
		struct run run = *profile_run(f.profile);
		run.contention = "1000000:0:0:2000000:0";
		run.bound_ns = 800 * MS;
		run.bound_threads = 2;
		run.bound_cpus = cpus;
		cr_assert(profile_set_run(f.profile, &run, NULL) == 0);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "CPU-BOUND");
		cr_assert_eq(finding != NULL, cpus == 1);
		if (!finding)
			continue;
		cr_expect_str_eq(finding->fact, "2 threads are ready to run at a time, bound to 1 "
		                                "of 2 CPUs, for 80 % of wall time");
		cr_expect(finding->saving_ns <= 400 * MS, "%lu", (unsigned long)finding->saving_ns);
	}
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

// Which call it is says what to do instead.
// A busy machine takes a thread's CPU at the end of an interrupt: no other calls would change that.
Test(finding_cpu, interrupts_are_not_what_a_program_asks_of_the_kernel)
{
	add(&f, 1, METRIC_ON_CPU, 400,
	    "main a.c:3 > now a.c:8 > !asm_sysvec_apic_timer_interrupt@kernel > "
	    "irqentry_exit_to_user_mode@kernel");
	add(&f, 1, METRIC_ON_CPU, 500, "main a.c:3 > now a.c:8");
	add(&f, 1, METRIC_ON_CPU, 100, "main a.c:3 > now a.c:8 > do_syscall_64@kernel");
	finish(1000, 2);
	cleanup(findings) struct findings *found = look(NULL);
	cr_expect_null(finding_of(found, "CPU-SYS"));
	cr_expect_float_eq(answer_of_rule(found, "CPU-SYS")->value, 10, 0.1);
}

Test(finding_cpu, what_is_left_out_of_kernel_time_is_said)
{
	static const struct {
		uint64_t copy_ms;
		const char *fact;
	} table[] = {
		{ 0,
		  "kernel time: 40 % of the main thread's time, most in now (a.c:8), which calls do_syscall_64" },
		{ 200, "kernel time without copies and interrupts: 40 % of the main thread's time, "
		       "most in now (a.c:8), which calls do_syscall_64" },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		end();
		begin();
		add(&f, 1, METRIC_ON_CPU, 400, "main a.c:3 > now a.c:8 > !do_syscall_64@kernel");
		add(&f, 1, METRIC_ON_CPU, table[i].copy_ms,
		    "main a.c:3 > now a.c:8 > !do_syscall_64@kernel > copyout@kernel");
		add(&f, 1, METRIC_ON_CPU, 600 - table[i].copy_ms, "main a.c:3 > now a.c:9");
		finish(1000, 2);
		cleanup(findings) struct findings *found = look(NULL);
		const struct finding *finding = finding_of(found, "CPU-SYS");
		cr_assert(finding != NULL);
		cr_expect_str_eq(finding->fact, table[i].fact);
	}
}

// Of a program of several processes that wait most of the time, as a server does.
Test(finding_cpu, cpu_time_beside_more_wall_time_is_a_share_of_that)
{
	add_process(&f, 2, 102, "worker");
	add_thread(&f, 2, 2, 102, "worker");
	add(&f, 1, METRIC_OFF_SLEEP, 1000, "main a.c:3 > master a.c:5");
	add(&f, 2, METRIC_ON_CPU, 300, "main a.c:3 > serve a.c:8 > do_syscall_64@kernel");
	add(&f, 2, METRIC_ON_CPU, 50, "main a.c:3 > serve a.c:8");
	finish(1000, 2);
	cleanup(findings) struct findings *found = look(NULL);
	const struct finding *finding = finding_of(found, "CPU-SYS");
	cr_assert(finding != NULL);
	cr_expect_str_eq(finding->fact, "kernel time: 30 % of wall time, 2 processes together, "
	                                "most in serve (a.c:8), which calls do_syscall_64");
}

Test(finding_cpu, kernel_time_has_advice_by_what_is_called)
{
	static const struct {
		const char *callee, *advice;
	} table[] = {
		{ "__clock_gettime", "Read this clock less often" },
		{ "getpid", "ask once and keep it" },
		{ "fseek", "throws the stream's buffer away" },
		{ "__poll", "use epoll(7)" },
		{ "select", "use epoll(7)" },
		{ "ioctl", "Make fewer and larger system calls" },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		char stack[80];
		end();
		begin();
		snprintf(stack, sizeof(stack), "main a.c:3 > now a.c:8 > !%s@libc > [kernel]",
		         table[i].callee);
		add(&f, 1, METRIC_ON_CPU, 900, stack);
		finish(1000, 2);
		cleanup(findings) struct findings *found = look(NULL);
		const struct finding *finding = finding_of(found, "CPU-SYS");
		cr_assert(finding != NULL, "%s", stack);
		cr_expect(strstr(finding->advice, table[i].advice) != NULL, "%s", finding->advice);
	}
}

// Which word of advice it is depends on how long a match takes: an engine that goes through a line
// once is done before the interpreter's part of the call is lost beside it.
Test(finding_cpu, backtracking_is_blamed_where_matches_take_long)
{
	static const struct {
		uint64_t line_ms;
		const char *match;
		bool backtracks;
	} table[] = {
		{ 0, "{method$'match'$of$'re.Pattern'$objects}", true },
		{ 100, "{method$'match'$of$'re.Pattern'$objects}", false },
		{ 0, "{method$'findall'$of$'re.Pattern'$objects}", false },
		{ 0, "regexec", false },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		char stack[120];
		end();
		begin();
		snprintf(stack, sizeof(stack), "{check a.py:3} > %s@libc", table[i].match);
		add(&f, 1, METRIC_ON_CPU, 800, stack);
		if (table[i].line_ms)
			add(&f, 1, METRIC_ON_CPU, table[i].line_ms, "{check a.py:3}");
		add(&f, 1, METRIC_ON_CPU, 200 - table[i].line_ms, "{other a.py:9} > fft@libc");
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "CPU-MATCH");
		cr_assert(finding != NULL, "row %zu", i);
		cr_expect_eq(strstr(finding->advice, "Each match takes long") != NULL,
		             table[i].backtracks, "row %zu: %s", i, finding->advice);
		cr_expect(table[i].backtracks || !strstr(finding->advice, "(\\w+"), "row %zu", i);
	}
}

// Whoever faults calls nothing of the kernel's.
Test(finding_cpu, kernel_time_for_page_faults_is_no_matter_of_system_calls)
{
	static const struct {
		const char *stack, *advice;
	} table[] = {
		{ "find a.c:8 > exc_page_fault@kernel > filemap_map_pages@kernel",
		  "page faults of a mapped file: map it once" },
		{ "find a.c:8 > exc_page_fault@kernel > do_fault@kernel", "reuse buffers" },
		{ "find a.c:8 > write@libc > do_syscall_64@kernel", "fewer and larger" },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		end();
		begin();
		add(&f, 1, METRIC_ON_CPU, 300, table[i].stack);
		add(&f, 1, METRIC_ON_CPU, 300, "find a.c:9 > munmap@libc > unmap_vmas@kernel");
		add(&f, 1, METRIC_ON_CPU, 400, "main a.c:3 > work a.c:5");
		finish(1000, 2);
		cleanup(findings) struct findings *found = look(NULL);
		const struct finding *finding = finding_of(found, "CPU-SYS");
		cr_assert(finding != NULL, "row %zu", i);
		cr_expect(strstr(finding->advice, table[i].advice) != NULL, "row %zu: %s", i,
		          finding->advice);
	}
}

// Where a holder works without the lock, as all who take it do now and then, it holds nobody up.
Test(finding_cpu, who_takes_a_lock_again_and_again_works_outside_of_it_too)
{
	static const struct {
		const char *stacks[4]; // of threads 1, 1, 2 and 2
		bool elsewhere;
	} rows[] = {
		{ { "run a.c:3 > put a.c:30 > pthread_mutex_lock@libc", "run a.c:4 > work a.c:9",
		    "run a.c:3 > put a.c:31 > fflush@libc", "run a.c:4 > work a.c:9" },
		  false }, // of one thread it is not known that it takes the lock and works with it
		{ { "run a.c:3 > put a.c:31 > fflush@libc", "run a.c:4 > work a.c:9",
		    "run a.c:3 > put a.c:31 > fflush@libc", "run a.c:4 > work a.c:9" },
		  true },
		{ { "run a.c:3 > put a.c:30 > pthread_mutex_lock@libc", "run a.c:4 > work a.c:9",
		    "run a.c:3 > put a.c:30 > pthread_mutex_lock@libc", "run a.c:4 > work a.c:9" },
		  false }, // a function that only takes the lock, for its caller
		{ { "run a.c:3 > put a.c:31 > fflush@libc", "run a.c:4 > put a.c:32 > work a.c:9",
		    "run a.c:3 > put a.c:31 > fflush@libc", "run a.c:4 > work a.c:9" },
		  false },
		{ { "run a.c:3 > put a.c:31 > fflush@libc",
		    "run a.c:4 > work a.c:9 > pthread_mutex_lock@libc",
		    "run a.c:3 > put a.c:31 > fflush@libc", "run a.c:4 > work a.c:9" },
		  false },
		{ { "run a.c:3 > put a.c:31 > fflush@libc", "run a.c:4 > work a.c:9",
		    "run a.c:4 > work a.c:9", "run a.c:4 > work a.c:9" },
		  false },
	};
	const struct wait_side waiter = { .function = "put" }, holder = { .function = "work" };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		end();
		begin();
		add_thread(&f, 2, 1, 102, "worker");
		for (uint32_t k = 0; k < 4; k++)
			add(&f, 1 + k / 2, METRIC_ON_CPU, 100, rows[i].stacks[k]);
		name_all(&f);
		cr_expect_eq(section_is_elsewhere(f.profile, &waiter, &holder), rows[i].elsewhere,
		             "row %zu", i);
	}
}
