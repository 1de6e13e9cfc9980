// SPDX-License-Identifier: MIT
#include "tests/support/rung_run.h"

#include "base/clock.h"
#include "tests/support/expect.h"

#include <math.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct rung_run run;

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
static bool sums_are_right(void)
{
	for (uint32_t i = 0; i < run.thread_count; i++) {
		const struct rung_thread *t = &run.threads[i];
		double off = (double)sum_of(t->stack_ns) - (double)(t->end_ns - t->start_ns);
		if (fabs(off) > 15e6)
			return false;
	}
	return true;
}

// While nobody looks, each CPU may do what is never seen.
static double unseen_ns(void)
{
	return (double)run.late_ns * (double)sysconf(_SC_NPROCESSORS_ONLN);
}

static bool cpu_is_within(double low)
{
	double on_cpu = (double)rung_on_cpu_ns(&run), cpu = (double)run.cpu_ns;

	return on_cpu >= low * cpu - unseen_ns() && on_cpu <= 1.05 * cpu + 20e6;
}

static bool cpu_is_right(void)
{
	return cpu_is_within(0.9);
}

// Of what processes and threads do as they start and end, not all is told.
static bool cpu_is_almost_right(void)
{
	return cpu_is_within(0.85);
}

static bool all_is_right(void)
{
	return sums_are_right() && cpu_is_right();
}

static bool all_is_almost_right(void)
{
	return sums_are_right() && cpu_is_almost_right();
}

// Others, or the host of a virtual machine, may take CPUs away between the readings of two clocks:
// sums are wrong if they are wrong at each of three draws. The last one is what RUN holds.
static void draw(enum rung rung, char *const argv[], bool (*right)(void))
{
	bool drawn = false;

	for (int i = 0; i < 3 && !drawn; i++) {
		rung_run(&run, rung, argv);
		drawn = right();
	}
	cr_expect(drawn, "%.1f of %.1f ms on a CPU, unseen %.1f ms; stacks %s to lives",
	          (double)rung_on_cpu_ns(&run) / 1e6, (double)run.cpu_ns / 1e6, unseen_ns() / 1e6,
	          sums_are_right() ? "add up" : "do not add up");
}

static void draw_on(enum rung rung, const char *mode, bool (*right)(void))
{
	char *argv[] = { TARGET, (char *)mode, NULL };

	draw(rung, argv, right);
	cr_expect(eq(int, (int)run.sampler.rung, (int)rung));
	cr_expect(not(run.sampler.off_cpu_exact), "it says that intervals are estimated");
}

static bool anything_is_right(void)
{
	return true;
}

// Of 400 ms.
static bool sleep_is_right(void)
{
	double slept = (double)run.threads[0].told_ns[METRIC_OFF_SLEEP];

	return all_is_right() && slept >= 250e6 - (double)run.late_ns && slept <= 900e6;
}

static bool sleep_and_stacks_are_right(void)
{
	double most = 0.1 * (double)run.cpu_ns + unseen_ns();

	return sleep_is_right() && (double)rung_unknown_ns(&run) <= most;
}

Test(agent_source, a_program_with_waits_adds_up)
{
	draw_on(RUNG_AGENT, "waits", sleep_and_stacks_are_right);
	expect_lives();
}

static bool locks_are_right(void)
{
	double locked = 0;

	for (uint32_t i = 1; i < run.thread_count; i++)
		locked += (double)run.threads[i].told_ns[METRIC_OFF_LOCK];
	return all_is_right() && locked >= 300e6 - 4 * (double)run.late_ns;
}

Test(agent_source, threads_and_their_locks_add_up)
{
	draw_on(RUNG_AGENT, "locks", locks_are_right);
	expect_lives();
	cr_expect(eq(u32, run.thread_count, 5));
	for (uint32_t i = 1; i < run.thread_count; i++)
		cr_expect(eq(int, strncmp(run.threads[i].name, "locker", 6), 0));
}

Test(agent_source, forks_are_processes_with_an_end)
{
	draw_on(RUNG_AGENT, "fork", all_is_almost_right);
	cr_expect(eq(u32, run.processes, 4));
	cr_expect(eq(u32, run.processes_ended, 4));
	expect_lives();
}

Test(agent_source, programs_without_agent_are_followed)
{
	char *argv[] = { "sh", "-c", HELLO_STATIC " >/dev/null; sleep 0.3; exit 0", NULL };

	draw(RUNG_AGENT, argv, sums_are_right);
	expect_lives();
	cr_expect(ge(u32, run.processes, 2));
	cr_expect(eq(u32, run.processes, run.processes_ended));
}

Test(agent_source, a_killed_process_ends_too)
{
	draw_on(RUNG_AGENT, "killed", all_is_almost_right);
	cr_expect(eq(u32, run.processes_ended, 1));
	expect_lives();
}

Test(agent_source, a_process_that_is_long_in_ending_is_one_process)
{
	draw_on(RUNG_AGENT, "memory", anything_is_right);
	cr_expect(eq(u32, run.processes, 1));
	cr_expect(eq(u32, run.processes_ended, 1));
	cr_expect(eq(u32, run.thread_count, 1));
}

Test(agent_source, a_process_that_cuts_its_rings_short_takes_nobody_down)
{
	draw_on(RUNG_AGENT, "cut-rings", anything_is_right);
	if (WIFEXITED(run.status) && WEXITSTATUS(run.status) == 125)
		cr_skip("the collector was too fast for the target to find its rings");
	cr_expect(eq(u32, run.processes_ended, 1));
	cr_expect(strstr(run.sampler.rung_note, "cut short") != NULL, "%s", run.sampler.rung_note);
	expect_lives();
}

Test(agent_source, five_hundred_threads_all_end)
{
	draw_on(RUNG_AGENT, "threads", cpu_is_almost_right);
	cr_expect(eq(u32, run.thread_count, 501));
	expect_lives();
}

Test(proc_source, without_an_agent_times_and_waits_are_known)
{
	draw_on(RUNG_PROC, "waits", sleep_is_right);
	expect_lives();
	cr_expect(eq(u64, rung_unknown_ns(&run), rung_on_cpu_ns(&run)), "but not what ran");
	cr_expect(ge(u64, run.sampler.probes, 1));
}

Test(proc_source, threads_and_children_are_found)
{
	draw_on(RUNG_PROC, "locks", all_is_right);
	cr_expect(eq(u32, run.thread_count, 5));
	expect_lives();
	draw_on(RUNG_PROC, "fork", sums_are_right);
	cr_expect(eq(u32, run.processes, 4));
	cr_expect(eq(u32, run.processes_ended, 4));
	expect_lives();
}

Test(proc_source, an_exec_is_noticed)
{
	char *argv[] = { "sh", "-c", "sleep 0.2; exec sleep 0.3", NULL };

	draw(RUNG_PROC, argv, sums_are_right);
	cr_expect(eq(str, run.last_command, "sleep"));
	cr_expect(ge(u32, run.execs, 1));
	cr_expect(eq(u32, run.processes, 2));
	expect_lives();
}
