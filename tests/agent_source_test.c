// SPDX-License-Identifier: MIT
#include "tests/rung_run.h"

#include "base/clock.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct rung_run run;

static void run_on(enum rung rung, const char *mode)
{
	char *argv[] = { TARGET, (char *)mode, NULL };

	rung_run(&run, rung, argv);
	cr_expect(eq(int, (int)run.sampler.rung, (int)rung));
	cr_expect(not(run.sampler.off_cpu_exact), "it says that intervals are estimated");
}

static uint64_t sum_of(const uint64_t *ns)
{
	uint64_t sum = 0;

	for (int i = 0; i < METRIC_COUNT; i++)
		sum += ns[i];
	return sum;
}

// For each thread: on-CPU and off-CPU together are its lifetime.
static void expect_lives(void)
{
	for (uint32_t i = 0; i < run.thread_count; i++) {
		const struct rung_thread *t = &run.threads[i];
		uint64_t life = t->end_ns - t->start_ns;
		cr_assert(t->ended, "%s/%u", t->name, t->tid);
		cr_expect(le(dbl, (double)sum_of(t->told_ns), (double)life + 1e6));
		cr_expect(ge(dbl, (double)sum_of(t->told_ns), (double)life - 1e6));
	}
}

// And the stacks add up to that; where a thread lived but a moment, within a tick or two.
static void expect_sums(void)
{
	expect_lives();
	for (uint32_t i = 0; i < run.thread_count; i++) {
		const struct rung_thread *t = &run.threads[i];
		uint64_t life = t->end_ns - t->start_ns;
		cr_expect(le(dbl, (double)sum_of(t->stack_ns), (double)life + 15e6));
		cr_expect(ge(dbl, (double)sum_of(t->stack_ns), (double)life - 15e6));
	}
}

// While nobody looks, each CPU may do what is never seen.
static double unseen_ns(void)
{
	return (double)run.late_ns * (double)sysconf(_SC_NPROCESSORS_ONLN);
}

static void expect_cpu(double low)
{
	cr_expect(ge(dbl, (double)rung_on_cpu_ns(&run), low * (double)run.cpu_ns - unseen_ns()));
	cr_expect(le(dbl, (double)rung_on_cpu_ns(&run), 1.05 * (double)run.cpu_ns + 20e6));
}

Test(agent_source, a_program_with_waits_adds_up)
{
	run_on(RUNG_AGENT, "waits");
	expect_sums();
	expect_cpu(0.9);
	const struct rung_thread *main = &run.threads[0];
	cr_expect(ge(dbl, (double)main->told_ns[METRIC_OFF_SLEEP], 250e6 - (double)run.late_ns));
	cr_expect(le(dbl, (double)main->told_ns[METRIC_OFF_SLEEP], 900e6));
	cr_expect(le(dbl, (double)rung_unknown_ns(&run), 0.1 * (double)run.cpu_ns + unseen_ns()));
}

Test(agent_source, threads_and_their_locks_add_up)
{
	run_on(RUNG_AGENT, "locks");
	expect_sums();
	expect_cpu(0.9);
	cr_expect(eq(u32, run.thread_count, 5));
	uint64_t locked = 0;
	for (uint32_t i = 1; i < run.thread_count; i++) {
		locked += run.threads[i].told_ns[METRIC_OFF_LOCK];
		cr_expect(eq(int, strncmp(run.threads[i].name, "locker", 6), 0));
	}
	cr_expect(ge(dbl, (double)locked, 300e6 - 4 * (double)run.late_ns));
}

Test(agent_source, forks_are_processes_with_an_end)
{
	run_on(RUNG_AGENT, "fork");
	cr_expect(eq(u32, run.processes, 4));
	cr_expect(eq(u32, run.processes_ended, 4));
	expect_sums();
	expect_cpu(0.85);
}

Test(agent_source, programs_without_agent_are_followed)
{
	char *argv[] = { "sh", "-c", HELLO_STATIC " >/dev/null; sleep 0.3; exit 0", NULL };

	rung_run(&run, RUNG_AGENT, argv);
	expect_sums();
	cr_expect(ge(u32, run.processes, 2));
	cr_expect(eq(u32, run.processes, run.processes_ended));
}

Test(agent_source, a_killed_process_ends_too)
{
	run_on(RUNG_AGENT, "killed");
	cr_expect(eq(u32, run.processes_ended, 1));
	expect_sums();
	expect_cpu(0.85);
}

Test(agent_source, a_process_that_is_long_in_ending_is_one_process)
{
	run_on(RUNG_AGENT, "memory");
	cr_expect(eq(u32, run.processes, 1));
	cr_expect(eq(u32, run.processes_ended, 1));
	cr_expect(eq(u32, run.thread_count, 1));
}

Test(agent_source, a_process_that_cuts_its_rings_short_takes_nobody_down)
{
	run_on(RUNG_AGENT, "cut-rings");
	if (WIFEXITED(run.status) && WEXITSTATUS(run.status) == 125)
		cr_skip("the collector was too fast for the target to find its rings");
	cr_expect(eq(u32, run.processes_ended, 1));
	cr_expect(strstr(run.sampler.rung_note, "cut short") != NULL, "%s", run.sampler.rung_note);
	expect_lives();
}

Test(agent_source, five_hundred_threads_all_end)
{
	run_on(RUNG_AGENT, "threads");
	cr_expect(eq(u32, run.thread_count, 501));
	expect_lives();
	expect_cpu(0.85);
}

Test(proc_source, without_an_agent_times_and_waits_are_known)
{
	run_on(RUNG_PROC, "waits");
	expect_sums();
	expect_cpu(0.9);
	cr_expect(eq(u64, rung_unknown_ns(&run), rung_on_cpu_ns(&run)), "but not what ran");
	cr_expect(ge(dbl, (double)run.threads[0].told_ns[METRIC_OFF_SLEEP],
	             250e6 - (double)run.late_ns));
	cr_expect(ge(u64, run.sampler.probes, 1));
}

Test(proc_source, threads_and_children_are_found)
{
	run_on(RUNG_PROC, "locks");
	cr_expect(eq(u32, run.thread_count, 5));
	expect_sums();
	expect_cpu(0.9);
	run_on(RUNG_PROC, "fork");
	cr_expect(eq(u32, run.processes, 4));
	cr_expect(eq(u32, run.processes_ended, 4));
	expect_sums();
}

Test(proc_source, an_exec_is_noticed)
{
	char *argv[] = { "sh", "-c", "sleep 0.2; exec sleep 0.3", NULL };

	rung_run(&run, RUNG_PROC, argv);
	cr_expect(eq(str, run.last_command, "sleep"));
	cr_expect(ge(u32, run.execs, 1));
	cr_expect(eq(u32, run.processes, 2));
	expect_sums();
}
