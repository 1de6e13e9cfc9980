// SPDX-License-Identifier: MIT
#include "tracer/agent/sample/signals.h"

#include "tests/support/expect.h"
#include "tracer/agent/sample/threads.h"

#include <pthread.h>
#include <unistd.h>

static volatile sig_atomic_t calls;

static void count_call(int number)
{
	(void)number;
	calls++;
}

static void start(void)
{
	calls = 0;
	cr_assert(signals_start(SIGNALS_TIMER, sigaction, sigprocmask));
}

TestSuite(agent_signals, .init = start);

Test(agent_signals, the_target_sees_its_own_action_and_ours_stays_installed)
{
	struct sigaction mine = { .sa_handler = count_call, .sa_flags = SA_RESTART }, seen;
	int number = signals_number(SIGNALS_TIMER);

	cr_expect(eq(int, signals_action(sigaction, number, NULL, &seen), 0));
	cr_expect(seen.sa_handler == SIG_DFL);
	cr_expect(eq(int, signals_action(sigaction, number, &mine, &seen), 0));
	cr_expect(seen.sa_handler == SIG_DFL);
	cr_expect(eq(int, signals_action(sigaction, number, NULL, &seen), 0));
	cr_expect(seen.sa_handler == count_call);
	cr_expect(eq(int, sigaction(number, NULL, &seen), 0));
	cr_expect(seen.sa_handler != count_call);
}

Test(agent_signals, a_signal_that_is_no_tick_reaches_the_target)
{
	struct sigaction mine = { .sa_handler = count_call };

	signals_action(sigaction, signals_number(SIGNALS_TIMER), &mine, NULL);
	raise(signals_number(SIGNALS_TIMER));
	cr_expect(eq(int, calls, 1));
	mine.sa_handler = SIG_IGN;
	signals_action(sigaction, signals_number(SIGNALS_TIMER), &mine, NULL);
	raise(signals_number(SIGNALS_TIMER));
	cr_expect(eq(int, calls, 1));
}

static sigset_t mask_seen;

static void see_mask(int number)
{
	(void)number;
	sigprocmask(SIG_BLOCK, NULL, &mask_seen);
}

Test(agent_signals, the_targets_handler_has_the_mask_that_it_asked_for)
{
	struct sigaction mine = { .sa_handler = see_mask };
	int number = signals_number(SIGNALS_TIMER);
	sigset_t blocked, after;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGWINCH);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	sigaddset(&mine.sa_mask, SIGUSR1);
	signals_action(sigaction, number, &mine, NULL);
	raise(number);
	cr_expect(eq(int, sigismember(&mask_seen, number), 1));
	cr_expect(eq(int, sigismember(&mask_seen, SIGUSR1), 1));
	cr_expect(eq(int, sigismember(&mask_seen, SIGWINCH), 1), "what the thread blocks");
	cr_expect(eq(int, sigismember(&mask_seen, SIGUSR2), 0), "not what ours blocks");
	mine.sa_flags = SA_NODEFER;
	signals_action(sigaction, number, &mine, NULL);
	raise(number);
	cr_expect(eq(int, sigismember(&mask_seen, number), 0));
	sigprocmask(SIG_BLOCK, NULL, &after);
	cr_expect(eq(int, sigismember(&after, SIGUSR1), 0), "it is as before");
	cr_expect(eq(int, sigismember(&after, SIGWINCH), 1));
}

Test(agent_signals, other_handlers_wait_for_ours_and_faults_do_not)
{
	struct sigaction ours;

	sigaction(signals_number(SIGNALS_TIMER), NULL, &ours);
	cr_expect(eq(int, sigismember(&ours.sa_mask, SIGVTALRM), 1));
	cr_expect(eq(int, sigismember(&ours.sa_mask, SIGSEGV), 0));
	cr_expect(eq(int, sigismember(&ours.sa_mask, SIGSYS), 0));
}

Test(agent_signals, without_a_handler_nothing_happens)
{
	struct sigaction reset = { .sa_handler = SIG_DFL };

	raise(signals_number(SIGNALS_TIMER));
	sigaction(signals_number(SIGNALS_TIMER), &reset, NULL); // behind our back
	raise(signals_number(SIGNALS_TIMER));
	cr_expect(eq(int, calls, 0));
}

Test(agent_signals, without_a_handler_a_trap_kills, .signal = SIGTRAP)
{
	cr_assert(signals_start(SIGNALS_TRAP, sigaction, sigprocmask));
	raise(SIGTRAP);
}

Test(agent_signals, the_mask_looks_as_if_the_target_had_its_way)
{
	sigset_t all, seen, real;
	int number = signals_number(SIGNALS_TIMER);

	sigfillset(&all);
	cr_expect(eq(int, signals_mask(sigprocmask, SIG_BLOCK, &all, &seen), 0));
	cr_expect(eq(int, sigismember(&seen, number), 0));
	signals_mask(sigprocmask, SIG_BLOCK, NULL, &seen);
	cr_expect(eq(int, sigismember(&seen, number), 1));
	cr_expect(eq(int, sigismember(&seen, SIGUSR1), 1));
	sigprocmask(SIG_BLOCK, NULL, &real);
	cr_expect(eq(int, sigismember(&real, number), 0), "but the kernel does not block ours");
	cr_expect(eq(int, sigismember(&real, SIGUSR1), 1));

	sigset_t none;
	sigemptyset(&none);
	signals_mask(sigprocmask, SIG_SETMASK, &none, &seen);
	cr_expect(eq(int, sigismember(&seen, number), 1));
	signals_mask(sigprocmask, SIG_BLOCK, NULL, &seen);
	cr_expect(eq(int, sigismember(&seen, number), 0));
}

Test(agent_signals, other_signals_pass_through)
{
	struct sigaction mine = { .sa_handler = count_call }, seen;

	sigfillset(&mine.sa_mask);
	cr_expect(eq(int, signals_action(sigaction, SIGUSR1, &mine, NULL), 0));
	sigaction(SIGUSR1, NULL, &seen);
	cr_expect(seen.sa_handler == count_call);
	cr_expect(eq(int, sigismember(&seen.sa_mask, signals_number(SIGNALS_TIMER)), 0));
	cr_expect(eq(int, sigismember(&seen.sa_mask, SIGUSR2), 1));
}

Test(agent_signals, the_mask_of_an_action_is_told_as_it_was_given)
{
	struct sigaction mine = { .sa_handler = count_call }, seen;

	sigfillset(&mine.sa_mask);
	signals_action(sigaction, SIGUSR1, &mine, NULL);
	signals_action(sigaction, SIGUSR1, NULL, &seen);
	cr_expect(eq(int, sigismember(&seen.sa_mask, signals_number(SIGNALS_TIMER)), 1));
	sigemptyset(&mine.sa_mask);
	signals_action(sigaction, SIGUSR1, &mine, &seen);
	cr_expect(eq(int, sigismember(&seen.sa_mask, signals_number(SIGNALS_TIMER)), 1));
	signals_action(sigaction, SIGUSR1, NULL, &seen);
	cr_expect(eq(int, sigismember(&seen.sa_mask, signals_number(SIGNALS_TIMER)), 0));
}

// Both kinds, as one has SIGTRAP, which does not queue.
static void wait_while_blocked(int number)
{
	struct sigaction mine = { .sa_handler = count_call };
	sigset_t set, pending;

	signals_action(sigaction, number, &mine, NULL);
	sigemptyset(&set);
	sigaddset(&set, number);
	signals_mask(sigprocmask, SIG_BLOCK, &set, NULL);
	calls = 0;
	kill(getpid(), number);
	cr_expect(eq(int, calls, 0), "signal %d", number);
	sigpending(&pending);
	cr_expect(eq(int, sigismember(&pending, number), 1), "signal %d", number);
	signals_mask(sigprocmask, SIG_UNBLOCK, &set, NULL);
	cr_expect(eq(int, calls, 1), "signal %d", number);
}

Test(agent_signals, what_the_target_blocks_waits)
{
	cr_assert(signals_start(SIGNALS_TRAP, sigaction, sigprocmask));
	wait_while_blocked(signals_number(SIGNALS_TIMER));
	wait_while_blocked(signals_number(SIGNALS_TRAP));
}

Test(agent_signals, what_was_blocked_before_the_start_is_told_so)
{
	sigset_t set, seen;

	sigemptyset(&set);
	sigaddset(&set, SIGTRAP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	cr_assert(signals_start(SIGNALS_TRAP, sigaction, sigprocmask));
	sigprocmask(SIG_BLOCK, NULL, &seen);
	cr_expect(eq(int, sigismember(&seen, SIGTRAP), 0));
	signals_mask(sigprocmask, SIG_BLOCK, NULL, &seen);
	cr_expect(eq(int, sigismember(&seen, SIGTRAP), 1));
	cr_expect(signals_is_ours(SIGTRAP));
	cr_expect(not(signals_is_ours(SIGUSR1)));
	cr_expect(not(signals_is_ours(0)));
}

static volatile sig_atomic_t torn;
static int stop; // atomic

static void with_information(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	torn |= !info;
	calls++;
}

// One of two handlers that differ in their flags: called by the other's, it has no information.
static void *set_in_turns(void *unused)
{
	struct sigaction plain = { .sa_handler = count_call };
	struct sigaction informed = { .sa_sigaction = with_information, .sa_flags = SA_SIGINFO };

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		signals_action(sigaction, signals_number(SIGNALS_TIMER), &informed, NULL);
		signals_action(sigaction, signals_number(SIGNALS_TIMER), &plain, NULL);
	}
	return unused;
}

Test(agent_signals, a_handler_and_its_flags_belong_together)
{
	pthread_t threads[2];
	struct sigaction seen;

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, set_in_turns, NULL);
	for (int i = 0; i < 200000; i++) {
		signals_action(sigaction, signals_number(SIGNALS_TIMER), NULL, &seen);
		torn |= (seen.sa_sigaction == with_information) != (seen.sa_flags == SA_SIGINFO) &&
		        seen.sa_handler != SIG_DFL;
		if (i % 10 == 0)
			raise(signals_number(SIGNALS_TIMER));
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	cr_expect(eq(int, torn, 0));
}
