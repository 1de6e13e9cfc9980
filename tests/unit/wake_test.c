// SPDX-License-Identifier: MIT
#include "tests/support/expect.h"
#include "tracer/agent/sample/wake.h"

#include <errno.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define AT 0x1000

static void do_nothing(int number)
{
	(void)number;
}

// As the kernel leaves it where it begins NUMBER again.
static ucontext_t restarted(long number)
{
	ucontext_t uc = { 0 };

	uc.uc_mcontext.gregs[REG_RAX] = number;
	uc.uc_mcontext.gregs[REG_RIP] = AT;
	uc.uc_mcontext.gregs[REG_RCX] = AT + 2;
	return uc;
}

static bool is_interrupted(const ucontext_t *uc)
{
	return uc->uc_mcontext.gregs[REG_RAX] == -EINTR && uc->uc_mcontext.gregs[REG_RIP] == AT + 2;
}

static void handle(int number, int flags)
{
	struct sigaction action = { .sa_handler = do_nothing, .sa_flags = flags };

	sigaction(number, &action, NULL);
}

static void hold(int number)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, number);
	sigprocmask(SIG_BLOCK, &set, NULL);
	kill(getpid(), number);
}

// Of a tick in UC; what is told comes within.
static bool interrupts(ucontext_t uc, const struct sigaction *told, bool may_guess)
{
	struct sigaction own = { .sa_handler = SIG_DFL };
	struct wake wake = wake_begin(&uc, sigaction);

	if (told)
		wake_tell(told);
	wake_end(wake, &uc, sigaction, told ? told : &own, may_guess);
	return is_interrupted(&uc);
}

Test(wake, who_has_no_handlers_is_never_interrupted)
{
	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	cr_expect(eq(int, interrupts(restarted(SYS_read), NULL, true), 0));
}

Test(wake, the_waiting_signals_handler_decides)
{
	handle(SIGUSR1, 0);
	handle(SIGUSR2, SA_RESTART);
	hold(SIGUSR2);
	cr_expect(eq(int, interrupts(restarted(SYS_read), NULL, true), 0));
	hold(SIGUSR1);
	cr_expect(interrupts(restarted(SYS_read), NULL, true), "the lower one runs next");
	cr_expect(eq(int, interrupts(restarted(SYS_getpid), NULL, true), 0), "no wait");
}

Test(wake, what_waits_for_a_thread_that_blocks_it_has_interrupted_nothing)
{
	ucontext_t uc = restarted(SYS_read);

	handle(SIGUSR1, 0);
	hold(SIGUSR1);
	sigaddset(&uc.uc_sigmask, SIGUSR1);
	cr_expect(eq(int, interrupts(uc, NULL, false), 0));
}

Test(wake, another_thread_that_has_taken_it_tells)
{
	struct sigaction own = { .sa_handler = do_nothing, .sa_flags = SA_RESTART };

	handle(SIGINT, 0);
	cr_expect(eq(int, interrupts(restarted(SYS_read), &own, true), 0));
	own.sa_flags = 0;
	cr_expect(interrupts(restarted(SYS_read), &own, true));
}

Test(wake, what_was_told_long_ago_is_of_another_call)
{
	struct sigaction own = { .sa_handler = do_nothing };
	ucontext_t uc = restarted(SYS_read);

	wake_tell(&own);
	usleep(1000);
	own.sa_flags = SA_RESTART;
	wake_end(wake_begin(&uc, sigaction), &uc, sigaction, &own, false);
	cr_expect(eq(int, is_interrupted(&uc), 0));
}

Test(wake, without_a_sign_who_may_be_interrupted_is)
{
	handle(SIGINT, 0);
	cr_expect(interrupts(restarted(SYS_read), NULL, true));
	cr_expect(eq(int, interrupts(restarted(SYS_read), NULL, false), 0),
	          "a timer's tick has done so itself");
	cr_expect(eq(int, interrupts((ucontext_t){ 0 }, NULL, true), 0), "no call");
}
