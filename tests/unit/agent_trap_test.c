// SPDX-License-Identifier: MIT
#include "tracer/agent/sample/trap.h"

#include "base/clock.h"
#include "tests/support/expect.h"
#include "tracer/agent/sample/signals.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define PERIOD_NS NS_PER_MS

static volatile sig_atomic_t ticks;
static uint64_t mark;

// Behind the address in siginfo_t, which names it from glibc 2.38 on.
static void count_tick(int number, siginfo_t *info, void *context)
{
	uint64_t data = ((const uint64_t *)(const void *)info)[3];

	(void)number;
	(void)context;
	ticks += info->si_code == 6 && data == mark;
}

static void start(void)
{
	struct sigaction action = { .sa_sigaction = count_tick, .sa_flags = SA_SIGINFO };

	mark = signals_trap_mark();
	sigaction(SIGTRAP, &action, NULL);
	if (!trap_start(0, PERIOD_NS, true))
		cr_skip_test("no perf events here");
}

TestSuite(agent_trap, .init = start);

static void burn(uint64_t ns)
{
	uint64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns;

	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		for (volatile int i = 0; i < 10000; i++)
			;
}

static void *burn_in_thread(void *argument)
{
	burn(100 * NS_PER_MS);
	return argument;
}

Test(agent_trap, a_busy_thread_is_ticked_each_period)
{
	ticks = 0;
	burn(200 * NS_PER_MS);
	cr_expect(ticks > 150 && ticks <= 201, "%d", (int)ticks);
}

Test(agent_trap, so_is_one_that_it_makes)
{
	pthread_t thread;

	ticks = 0;
	pthread_create(&thread, NULL, burn_in_thread, NULL);
	pthread_join(thread, NULL);
	cr_expect(ticks > 70, "%d", (int)ticks);
}

Test(agent_trap, but_not_a_child)
{
	pid_t child = fork();
	int status = -1;

	if (child == 0) {
		ticks = 0;
		burn(50 * NS_PER_MS);
		_exit(ticks > 0);
	}
	waitpid(child, &status, 0);
	cr_expect(eq(int, status, 0));
}

Test(agent_trap, its_descriptor_is_out_of_the_way)
{
	int fd = trap_next(0);

	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	cr_expect(ge(int, fd, 900));
	if (limit.rlim_cur <= 16384 && limit.rlim_cur + 256 <= limit.rlim_max)
		cr_expect(ge(int, fd, (int)limit.rlim_cur), "above what there can be");
	cr_expect(trap_is_ours(fd));
	cr_expect(not(trap_is_ours(fd - 1)));
	cr_expect(eq(int, trap_next(fd + 1), -1));
}

Test(agent_trap, who_closes_it_is_found_out)
{
	cr_expect(trap_is_alive());
	close(trap_next(0));
	cr_expect(not(trap_is_alive()));
	ticks = 0;
	burn(20 * NS_PER_MS);
	cr_expect(eq(int, ticks, 0));
}

Test(agent_trap, what_has_come_in_its_place_is_left_alone)
{
	int fd = trap_next(0);
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	cr_assert(eq(int, dup2(STDOUT_FILENO, fd), fd));
	cr_expect(not(trap_is_alive()));
	trap_stop();
	cr_expect(eq(int, close(fd), 0), "it is still open");
}

Test(agent_trap, a_pause_is_one_until_it_ends)
{
	trap_pause();
	ticks = 0;
	burn(20 * NS_PER_MS);
	cr_expect(eq(int, ticks, 0));
	trap_resume();
	burn(50 * NS_PER_MS);
	cr_expect(gt(int, ticks, 20));
}

Test(agent_trap, stopped_it_is_gone)
{
	trap_stop();
	ticks = 0;
	burn(20 * NS_PER_MS);
	cr_expect(eq(int, ticks, 0));
	cr_expect(eq(int, trap_next(0), -1));
	cr_expect(not(trap_is_alive()));
}
