// SPDX-License-Identifier: MIT
#include "tests/support/expect.h"
#include "tracer/agent/hold.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static volatile sig_atomic_t handled;

static void handle(int number)
{
	(void)number;
	handled++;
}

static bool blocks(int number)
{
	sigset_t mask;

	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	return sigismember(&mask, number) == 1;
}

Test(hold, a_handler_runs_once_the_hold_is_over)
{
	signal(SIGUSR1, handle);
	struct hold hold = hold_signals();
	raise(SIGUSR1);
	cr_expect(eq(int, handled, 0));
	hold_end(hold);
	cr_expect(eq(int, handled, 1));
}

Test(hold, what_an_instruction_raises_comes_through)
{
	static const int raised[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS };
	struct hold hold = hold_signals();

	for (size_t i = 0; i < sizeof(raised) / sizeof(raised[0]); i++) {
		signal(raised[i], handle);
		raise(raised[i]);
		cr_expect(eq(int, handled, (int)i + 1));
	}
	hold_end(hold);
}

Test(hold, an_inner_hold_leaves_the_outer_as_it_was)
{
	sigset_t own;

	sigemptyset(&own);
	sigaddset(&own, SIGTRAP);
	pthread_sigmask(SIG_BLOCK, &own, NULL);
	struct hold outer = hold_signals(), inner = hold_signals();
	hold_end(inner);
	cr_expect(eq(int, blocks(SIGUSR1), 1));
	cr_expect(eq(int, blocks(SIGTRAP), 1));
	hold_end(outer);
	cr_expect(eq(int, blocks(SIGUSR1), 0));
	cr_expect(eq(int, blocks(SIGTRAP), 1));
}

static int threads_done;

static void *hold_within(void *context)
{
	struct hold held = hold_signals();

	cr_expect(ne(int, hold_thread(), *(pid_t *)context), "of this thread alone");
	cr_expect(eq(int, blocks(SIGUSR1), 1));
	hold_end(held);
	cr_expect(eq(int, blocks(SIGUSR1), 0));
	threads_done++;
	return NULL;
}

Test(hold, holds_within_a_long_one_change_nothing)
{
	pid_t tid = hold_thread();
	pthread_t thread;

	signal(SIGUSR1, handle);
	struct hold outer = hold_long(), inner = hold_signals();
	cr_expect(eq(int, inner.held, 1));
	cr_expect(eq(int, hold_thread(), tid));
	raise(SIGUSR1);
	hold_end(inner);
	cr_expect(eq(int, handled, 0));
	hold_long_end(outer);
	cr_expect(eq(int, handled, 1));
	cr_assert(eq(int, pthread_create(&thread, NULL, hold_within, &tid), 0));
	pthread_join(thread, NULL);
	cr_expect(eq(int, threads_done, 1));
	struct hold later = hold_signals();
	cr_expect(eq(int, blocks(SIGUSR1), 1), "it takes place again");
	hold_end(later);
}

Test(hold, what_is_let_through_within_a_long_one_is_so_at_its_end)
{
	sigset_t own;

	cr_expect(eq(ptr, hold_long_mask(), NULL));
	sigemptyset(&own);
	sigaddset(&own, SIGUSR1);
	sigaddset(&own, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &own, NULL);
	struct hold outer = hold_long();
	uint64_t *later = hold_long_mask();
	cr_assert(ne(ptr, later, NULL));
	cr_expect(*later >> (SIGUSR1 - 1) & 1, "the target's own");
	cr_expect(!(*later >> (SIGURG - 1) & 1), "it is the hold that blocks it");
	*later &= ~(UINT64_C(1) << (SIGUSR1 - 1));
	hold_long_end(outer);
	cr_expect(eq(int, blocks(SIGUSR1), 0));
	cr_expect(eq(int, blocks(SIGUSR2), 1));
	cr_expect(eq(ptr, hold_long_mask(), NULL));
}

Test(hold, one_that_was_not_taken_changes_nothing)
{
	sigset_t own;

	sigemptyset(&own);
	sigaddset(&own, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &own, NULL);
	hold_end((struct hold){ 0 });
	cr_expect(eq(int, blocks(SIGUSR2), 1));
}

#define SIGNALS 200

static int requests[2];

// Holds as soon as its signal is on its way to the main thread, which sleeps.
static void *send(void *unused)
{
	char byte;

	while (read(requests[0], &byte, 1) == 1) {
		usleep(500);
		kill(getpid(), SIGTRAP);
		hold_end(hold_signals());
	}
	return unused;
}

static pthread_t last;

static void handle_in(int number)
{
	(void)number;
	last = pthread_self();
}

Test(hold, a_signal_of_the_process_stays_the_main_threads)
{
	struct sigaction action = { .sa_handler = handle_in };
	pthread_t sender;
	int elsewhere = 0;
	char byte = 0;

	cr_assert(pipe(requests) == 0);
	sigaction(SIGTRAP, &action, NULL);
	cr_assert(eq(int, pthread_create(&sender, NULL, send, NULL), 0));
	for (int i = 0; i < SIGNALS; i++) {
		last = (pthread_t)0;
		cr_assert(eq(i64, write(requests[1], &byte, 1), 1));
		struct timespec most = { 0, 50000000 };
		nanosleep(&most, NULL); // until the signal
		elsewhere += !pthread_equal(last, pthread_self());
	}
	close(requests[1]);
	pthread_join(sender, NULL);
	cr_expect(le(int, elsewhere, SIGNALS / 20), "%d of %d", elsewhere, SIGNALS);
}
