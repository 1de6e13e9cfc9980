// SPDX-License-Identifier: MIT
#include "tracer/agent/signals.h"

#include "tracer/agent/threads.h"
#include "tracer/agent/ticker.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

// Few programs use real-time signals, and those that do take the first or the last ones.
#define OUR_OFFSET 21

// A tick carries this address: nobody else's timer does.
static char tick_mark;
static int our_signal; // 0: off
static struct sigaction target_action;
static signals_action_function *libc_action;

static bool is_tick(const siginfo_t *info)
{
	return info->si_code == SI_TIMER && info->si_value.sival_ptr == &tick_mark;
}

// What the default action of a real-time signal does: end the process, by this very signal. It
// is blocked while its handler runs, and so comes when that has returned.
static void die(int number)
{
	struct sigaction fatal = { .sa_handler = SIG_DFL };

	libc_action(number, &fatal, NULL);
	syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), number);
}

// The mask that the kernel would have set for the target's handler.
static void set_mask(const struct sigaction *action, int number, const void *context)
{
	const ucontext_t *uc = context;
	sigset_t mask;

	sigorset(&mask, &uc->uc_sigmask, &action->sa_mask);
	if (!(action->sa_flags & SA_NODEFER))
		sigaddset(&mask, number);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, NSIG / 8);
}

// The signal is the target's own: do what it asked for.
static void forward(int number, siginfo_t *info, void *context)
{
	struct sigaction action = target_action;

	set_mask(&action, number, context);
	if (action.sa_flags & SA_RESETHAND)
		target_action.sa_handler = SIG_DFL;
	if (action.sa_flags & SA_SIGINFO)
		action.sa_sigaction(number, info, context);
	else if (action.sa_handler == SIG_DFL)
		die(number);
	else if (action.sa_handler != SIG_IGN)
		action.sa_handler(number);
}

static void handler(int number, siginfo_t *info, void *context)
{
	int error = errno;

	if (!is_tick(info)) {
		forward(number, info, context);
		return;
	}
	threads_tick(context, info->si_overrun > 0 ? (uint32_t)info->si_overrun : 0);
	errno = error;
}

static bool install(void)
{
	// SIGSYS: a seccomp filter may trap our system calls, too.
	static const int raised[] = { SIGSEGV, SIGBUS, SIGSYS, SIGTRAP, SIGILL, SIGFPE };
	// SA_RESTART is for the target's own use of the signal: ticks come only while it runs.
	bool target_interrupts =
		(target_action.sa_flags & SA_SIGINFO ||
	         (target_action.sa_handler != SIG_DFL && target_action.sa_handler != SIG_IGN)) &&
		!(target_action.sa_flags & SA_RESTART);
	struct sigaction ours = {
		.sa_sigaction = handler,
		.sa_flags = SA_SIGINFO | SA_ONSTACK | (target_interrupts ? 0 : SA_RESTART),
	};

	// A timer of the target's fires at the same tick of the kernel. Its handler must wait for
	// ours: on top of ours, where our signal is blocked, it would never be sampled. Signals
	// that an instruction raises cannot wait: blocked, they would end the process.
	sigfillset(&ours.sa_mask);
	for (size_t i = 0; i < sizeof(raised) / sizeof(raised[0]); i++)
		sigdelset(&ours.sa_mask, raised[i]);
	return libc_action(our_signal, &ours, NULL) == 0;
}

bool signals_start(signals_action_function *real_action, signals_mask_function *real_mask)
{
	int number = SIGRTMIN + OUR_OFFSET;
	sigset_t ours, before;

	libc_action = real_action;
	if (number > SIGRTMAX || libc_action(number, NULL, &target_action) < 0)
		return false;
	our_signal = number;
	if (!install()) {
		our_signal = 0;
		return false;
	}
	sigemptyset(&ours);
	sigaddset(&ours, number);
	if (real_mask(SIG_UNBLOCK, &ours, &before) == 0)
		threads_set_blocked(sigismember(&before, number) == 1);
	return true;
}

int signals_number(void)
{
	return our_signal;
}

bool ticker_start(uint32_t tid, uint64_t period_ns, int *ticker)
{
	// The kernel's name for the CPU clock of one thread; see clock_getcpuclockid(3).
	clockid_t clock = (clockid_t)(~tid << 3 | 4 | 2);
	struct sigevent event = {
		.sigev_notify = SIGEV_THREAD_ID,
		.sigev_signo = our_signal,
		.sigev_value.sival_ptr = &tick_mark,
	};
	struct timespec period = { (time_t)(period_ns / 1000000000),
		                   (long)(period_ns % 1000000000) };
	// The first tick that hits the thread counts, so that short threads have their fair chance.
	struct itimerspec setting = { .it_interval = period, .it_value = { 0, 1 } };

	*ticker = -1;
	event._sigev_un._tid = (pid_t)tid;
	// Not timer_create(): glibc's may allocate.
	if (!our_signal || syscall(SYS_timer_create, clock, &event, ticker) < 0)
		return false;
	if (syscall(SYS_timer_settime, *ticker, 0, &setting, NULL) == 0)
		return true;
	ticker_stop(*ticker);
	*ticker = -1;
	return false;
}

void ticker_stop(int ticker)
{
	syscall(SYS_timer_delete, ticker);
}

int signals_action(signals_action_function *real, int number, const struct sigaction *action,
                   struct sigaction *old)
{
	if (!our_signal || (number != our_signal && !action))
		return real(number, action, old);
	if (number != our_signal) {
		// While its handler runs the thread is sampled like anywhere else.
		struct sigaction copy = *action;
		sigdelset(&copy.sa_mask, our_signal);
		return real(number, &copy, old);
	}

	struct sigaction before = target_action;
	if (action) {
		target_action = *action;
		install();
	}
	if (old)
		*old = before;
	return 0;
}

static void set_member(sigset_t *set, int number, bool member)
{
	if (member)
		sigaddset(set, number);
	else
		sigdelset(set, number);
}

int signals_mask(signals_mask_function *real, int how, const sigset_t *set, sigset_t *old)
{
	if (!our_signal)
		return real(how, set, old);

	bool before = threads_blocked();
	bool named = set && sigismember(set, our_signal) == 1;
	sigset_t copy;
	if (set) {
		copy = *set;
		sigdelset(&copy, our_signal);
	}
	int result = real(how, set ? &copy : NULL, old);
	if (result != 0)
		return result;
	if (old)
		set_member(old, our_signal, before);
	if (set && how == SIG_SETMASK)
		threads_set_blocked(named);
	else if (named)
		threads_set_blocked(how == SIG_BLOCK);
	return 0;
}
