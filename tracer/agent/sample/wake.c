// SPDX-License-Identifier: MIT
#include "tracer/agent/sample/wake.h"

#include "base/clock.h"

#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define SYSCALL_BYTES 2 // of the instruction

// Another thread takes a signal that a handler of ours has just blocked.
#define TOLD_BEFORE_NS 50000 // from then to the handler's first clock
#define TOLD_PAUSE_NS  100000
#define TOLD_TURNS     20

// When a thread last ran a handler of the target's for a signal of ours, in ns, times two; and 1 if
// that handler interrupts calls. Atomic.
static uint64_t told;

void wake_tell(const struct sigaction *action)
{
	uint64_t interrupts = !(action->sa_flags & SA_RESTART);

	__atomic_store_n(&told, clock_now_ns() << 1 | interrupts, __ATOMIC_SEQ_CST);
}

// A wait that ends by EINTR where a handler without SA_RESTART has run.
static bool is_wait(const greg_t *registers)
{
	unsigned futex = (unsigned)registers[REG_RSI] & 0x7f;

	switch (registers[REG_RAX]) {
	case SYS_read:
	case SYS_write:
	case SYS_readv:
	case SYS_writev:
	case SYS_open:
	case SYS_openat:
	case SYS_ioctl:
	case SYS_fcntl:
	case SYS_flock:
	case SYS_wait4:
	case SYS_waitid:
	case SYS_accept:
	case SYS_accept4:
	case SYS_connect:
	case SYS_sendto:
	case SYS_sendmsg:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_recvmmsg:
		return true;
	case SYS_futex:
		return futex == 0 || futex == 9; // FUTEX_WAIT, FUTEX_WAIT_BITSET
	default:
		return false;
	}
}

// Only behind a call does RCX hold the address that follows it.
static bool is_restarted(const void *context)
{
	const ucontext_t *uc = context;
	const greg_t *registers = uc->uc_mcontext.gregs;

	return registers[REG_RCX] == registers[REG_RIP] + SYSCALL_BYTES && is_wait(registers);
}

bool wake_handles(const struct sigaction *action)
{
	return action->sa_flags & SA_SIGINFO ||
	       (action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN);
}

static bool has_handler(int number, const void *context, wake_action_function *ask,
                        struct sigaction *action)
{
	const ucontext_t *uc = context;

	return sigismember(&uc->uc_sigmask, number) != 1 && ask(number, NULL, action) == 0 &&
	       wake_handles(action);
}

// By whom the call was interrupted: its handler is to run next.
static enum wake_by find_wake(const void *context, wake_action_function *ask)
{
	struct sigaction action;
	sigset_t pending;

	sigemptyset(&pending);
	syscall(SYS_rt_sigpending, &pending, NSIG / 8);
	for (int number = 1; number < NSIG; number++)
		if (sigismember(&pending, number) == 1 &&
		    has_handler(number, context, ask, &action))
			return action.sa_flags & SA_RESTART ? WAKE_RESTARTS : WAKE_INTERRUPTS;
	return WAKE_UNKNOWN;
}

static bool any_interrupts(const void *context, wake_action_function *ask)
{
	struct sigaction action;

	for (int number = 1; number < NSIG; number++)
		if (has_handler(number, context, ask, &action) && !(action.sa_flags & SA_RESTART))
			return true;
	return false;
}

// While ours blocks it here, the kernel gives a signal of the process to another thread, which may
// have it by now. Of ours, that one tells.
static enum wake_by find_told(uint64_t since_ns)
{
	uint64_t last = __atomic_load_n(&told, __ATOMIC_SEQ_CST);

	if (last >> 1 < since_ns)
		return WAKE_UNKNOWN;
	return last & 1 ? WAKE_INTERRUPTS : WAKE_RESTARTS;
}

// Nothing waits any more. Who has handlers that interrupt calls cannot mind if one is interrupted
// too often; but who handles our signal, too, and not like that, may be about to say so.
static enum wake_by guess(const void *context, wake_action_function *ask,
                          const struct sigaction *own, uint64_t since_ns)
{
	const struct timespec pause = { 0, TOLD_PAUSE_NS };

	if (!any_interrupts(context, ask))
		return WAKE_RESTARTS;
	for (int i = 0; wake_handles(own) && i < TOLD_TURNS; i++) {
		syscall(SYS_nanosleep, &pause, NULL);
		enum wake_by by = find_told(since_ns);
		if (by != WAKE_UNKNOWN)
			return by;
	}
	return WAKE_INTERRUPTS;
}

static void interrupt(void *context)
{
	ucontext_t *uc = context;

	uc->uc_mcontext.gregs[REG_RAX] = -EINTR;
	uc->uc_mcontext.gregs[REG_RIP] += SYSCALL_BYTES;
}

struct wake wake_begin(const void *context, wake_action_function *action)
{
	if (!is_restarted(context))
		return (struct wake){ .by = WAKE_RESTARTS };
	return (struct wake){ .since_ns = clock_now_ns() - TOLD_BEFORE_NS,
		              .by = find_wake(context, action) };
}

void wake_end(struct wake wake, void *context, wake_action_function *action,
              const struct sigaction *own, bool may_guess)
{
	if (wake.by == WAKE_UNKNOWN)
		wake.by = find_wake(context, action); // it may have come only now
	if (wake.by == WAKE_UNKNOWN)
		wake.by = find_told(wake.since_ns);
	if (wake.by == WAKE_UNKNOWN && may_guess)
		wake.by = guess(context, action, own, wake.since_ns);
	if (wake.by == WAKE_INTERRUPTS)
		interrupt(context);
}
