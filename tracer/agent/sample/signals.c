// SPDX-License-Identifier: MIT
#include "tracer/agent/sample/signals.h"

#include "tracer/agent/hold.h"
#include "tracer/agent/precedence.h"
#include "tracer/agent/sample/threads.h"
#include "tracer/agent/sample/ticker.h"
#include "tracer/agent/sample/wake.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

// Of the signals that do nothing by default, few programs use this one, and Go takes it for the
// same. A program that resets its action in a way we do not see loses our ticks, and nothing else.
#define OUR_TIMER SIGURG

// <signal.h> has them from glibc 2.38 on.
#define OUR_TRAP_PERF 6
#define OUR_ASYNC     1u // it had to wait while it was blocked
struct trap_info {
	uint8_t head[24]; // as in siginfo_t, up to the address
	uint64_t data;
	uint32_t type, flags;
};

/*
 * What the target has asked for, which handlers read while other threads may write. Who writes
 * takes a place that is not in use, and keeps it until it is. Who reads sees by the version whether
 * the place was written meanwhile: then another one is in use.
 */
#define PLACES 8
struct place {
	int taken;        // atomic
	uint32_t version; // atomic; odd: it is being written
	struct sigaction action;
};
struct target {
	uint32_t used; // atomic: of the places
	struct place places[PLACES];
};

struct ours {
	int number; // 0: off
	bool (*is_tick)(const siginfo_t *info);
	struct target target;
};

static bool is_timer_tick(const siginfo_t *info);
static bool is_trap_tick(const siginfo_t *info);

// A tick carries this address: nobody else's timer or event does.
static char tick_mark;
static struct ours all[SIGNALS_KINDS] = {
	[SIGNALS_TIMER] = { .is_tick = is_timer_tick },
	[SIGNALS_TRAP] = { .is_tick = is_trap_tick },
};
static uint8_t masked[NSIG + 1]; // of ours, 1 << kind: the target's action of that number holds
static signals_action_function *libc_action;
static void (*when_waited_for)(void); // by the target, SIGTRAP

static bool is_timer_tick(const siginfo_t *info)
{
	return info->si_code == SI_TIMER && info->si_value.sival_ptr == &tick_mark;
}

static bool is_trap_tick(const siginfo_t *info)
{
	const struct trap_info *trap = (const struct trap_info *)(const void *)info;

	return info->si_code == OUR_TRAP_PERF && trap->data == signals_trap_mark();
}

static bool was_async(const siginfo_t *info)
{
	return ((const struct trap_info *)(const void *)info)->flags & OUR_ASYNC;
}

uint64_t signals_trap_mark(void)
{
	return (uint64_t)(uintptr_t)&tick_mark;
}

static struct sigaction target_action(const struct ours *ours)
{
	struct sigaction action;

	for (;;) {
		uint32_t used = __atomic_load_n(&ours->target.used, __ATOMIC_ACQUIRE);
		const struct place *place = &ours->target.places[used];
		uint32_t version = __atomic_load_n(&place->version, __ATOMIC_ACQUIRE);
		memcpy(&action, &place->action, sizeof(action));
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (!(version & 1) && __atomic_load_n(&place->version, __ATOMIC_RELAXED) == version)
			return action;
	}
}

static uint32_t take_place(struct target *t)
{
	for (uint32_t i = 0;; i = (i + 1) % PLACES) {
		if (__atomic_exchange_n(&t->places[i].taken, 1, __ATOMIC_ACQUIRE))
			continue;
		if (i != __atomic_load_n(&t->used, __ATOMIC_ACQUIRE))
			return i;
		__atomic_store_n(&t->places[i].taken, 0, __ATOMIC_RELEASE);
	}
}

// Returns the action that it replaces.
static struct sigaction set_target_action(struct ours *ours, const struct sigaction *action)
{
	struct target *t = &ours->target;
	uint32_t used, taken = take_place(t);
	struct place *place = &t->places[taken];
	struct sigaction before;

	__atomic_fetch_add(&place->version, 1, __ATOMIC_ACQ_REL);
	memcpy(&place->action, action, sizeof(*action));
	__atomic_fetch_add(&place->version, 1, __ATOMIC_RELEASE);
	do {
		used = __atomic_load_n(&t->used, __ATOMIC_ACQUIRE);
		before = target_action(ours);
	} while (!__atomic_compare_exchange_n(&t->used, &used, taken, false, __ATOMIC_ACQ_REL,
	                                      __ATOMIC_RELAXED));
	__atomic_store_n(&place->taken, 0, __ATOMIC_RELEASE);
	return before;
}

static struct ours *find(int number)
{
	for (int i = 0; number && i < SIGNALS_KINDS; i++)
		if (all[i].number == number)
			return &all[i];
	return NULL;
}

static unsigned bit(const struct ours *ours)
{
	return 1u << (ours - all);
}

// The default action of SIGTRAP: to end the process, by this very signal. It is blocked while its
// handler runs, and so comes when that has returned. Of the other there is none.
static void die(int number)
{
	struct sigaction fatal = { .sa_handler = SIG_DFL };

	if (number == OUR_TIMER)
		return;
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
static void forward(struct ours *ours, int number, siginfo_t *info, void *context)
{
	struct sigaction action = target_action(ours), reset = action;

	wake_tell(&action);
	set_mask(&action, number, context);
	reset.sa_handler = SIG_DFL;
	if (action.sa_flags & SA_RESETHAND)
		set_target_action(ours, &reset);
	if (action.sa_flags & SA_SIGINFO)
		action.sa_sigaction(number, info, context);
	else if (action.sa_handler == SIG_DFL)
		die(number);
	else if (action.sa_handler != SIG_IGN)
		action.sa_handler(number);
}

static void send_again(int number, siginfo_t *info)
{
	pid_t pid = getpid();

	if (info->si_code == SI_TKILL)
		syscall(SYS_rt_tgsigqueueinfo, pid, syscall(SYS_gettid), number, info);
	// Only the main thread may say that the process was sent it by another one.
	else if (syscall(SYS_rt_sigqueueinfo, pid, number, info) < 0)
		syscall(SYS_kill, pid, number);
}

// Of a signal only one waits, for the thread and for the process: a tick that waits already is in
// the way of the target's own.
static void drop_ticks(const struct ours *ours)
{
	struct timespec now = { 0, 0 };
	siginfo_t info, own[2];
	sigset_t set;
	int count = 0;

	sigemptyset(&set);
	sigaddset(&set, ours->number);
	while (count < 2 && syscall(SYS_rt_sigtimedwait, &set, &info, &now, NSIG / 8) > 0)
		if (!ours->is_tick(&info))
			own[count++] = info;
	while (count)
		send_again(ours->number, &own[--count]);
}

static void leave_traps(ucontext_t *uc)
{
	if (when_waited_for)
		when_waited_for();
	drop_ticks(&all[SIGNALS_TRAP]);
	// They may have just started, in the mask that the handler's end undoes.
	if (all[SIGNALS_TIMER].number)
		sigdelset(&uc->uc_sigmask, all[SIGNALS_TIMER].number);
}

// The target has blocked its signal: from now on that is so in earnest, and the signal waits.
static void defer(const struct ours *ours, int number, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	// The kernel does not let an instruction's signal wait.
	if (number == SIGTRAP && info->si_code > 0) {
		die(number);
		return;
	}
	if (ours == &all[SIGNALS_TRAP]) {
		leave_traps(uc);
	} else {
		// What asks for the signal that waits must not get a tick.
		threads_pause_timer();
		drop_ticks(ours);
	}
	sigaddset(&uc->uc_sigmask, number);
	send_again(number, info);
}

// Signals of the process that the end of this handler would give to this thread.
static void leave_main_its_own(const void *context)
{
	const ucontext_t *uc = context;
	uint64_t blocked;

	memcpy(&blocked, &uc->uc_sigmask, sizeof(blocked));
	precedence_give(blocked);
}

static void take_tick(const struct ours *ours, const siginfo_t *info, void *context)
{
	struct wake wake = wake_begin(context, libc_action);

	if (ours == &all[SIGNALS_TRAP])
		threads_trap(context, was_async(info));
	else
		threads_tick(context, info->si_overrun > 0 ? (uint32_t)info->si_overrun : 0);
	struct sigaction target = target_action(ours);
	// A timer interrupts calls by itself.
	wake_end(wake, context, libc_action, &target, ours == &all[SIGNALS_TRAP]);
}

static void tick(const struct ours *ours, const siginfo_t *info, void *context)
{
	if (threads_enter_tick())
		take_tick(ours, info, context);
	threads_leave_tick();
	if (!threads_are_hushed())
		leave_main_its_own(context);
}

static void handler(int number, siginfo_t *info, void *context)
{
	struct ours *ours = find(number);
	int error = errno;

	if (!ours)
		return;
	if (ours->is_tick(info)) {
		tick(ours, info, context);
	} else if (threads_blocked() & bit(ours)) {
		defer(ours, number, info, context);
	} else {
		errno = error;
		forward(ours, number, info, context);
		return;
	}
	errno = error;
}

static bool install(const struct ours *ours)
{
	// SIGSYS: a seccomp filter may trap our system calls, too. SIGTRAP does wait: a tick of one
	// kind must not come into the handler of the other.
	static const int raised[] = { SIGSEGV, SIGBUS, SIGSYS, SIGILL, SIGFPE };
	const struct sigaction target = target_action(ours);
	// SA_RESTART is for the target's own use of the signal: ticks come only while it runs.
	bool target_interrupts = wake_handles(&target) && !(target.sa_flags & SA_RESTART);
	struct sigaction action = {
		.sa_sigaction = handler,
		.sa_flags = SA_SIGINFO | SA_ONSTACK | (target_interrupts ? 0 : SA_RESTART),
	};

	// A timer of the target's fires at the same tick of the kernel. Its handler must wait for
	// ours: on top of ours, where our signal is blocked, it would never be sampled. Signals
	// that an instruction raises cannot wait: blocked, they would end the process.
	sigfillset(&action.sa_mask);
	for (size_t i = 0; i < sizeof(raised) / sizeof(raised[0]); i++)
		sigdelset(&action.sa_mask, raised[i]);
	return libc_action(ours->number, &action, NULL) == 0;
}

// Whether the target has blocked NUMBER, which it does not any more.
static bool let_through(int number, signals_mask_function *real_mask)
{
	uint64_t *later = hold_long_mask(), bit = UINT64_C(1) << (number - 1);
	sigset_t set, before;

	if (later) { // what is blocked now is not the target's doing
		bool was = *later & bit;
		*later &= ~bit;
		return was;
	}
	sigemptyset(&set);
	sigaddset(&set, number);
	return real_mask(SIG_UNBLOCK, &set, &before) == 0 && sigismember(&before, number) == 1;
}

bool signals_start(enum signals_kind kind, signals_action_function *real_action,
                   signals_mask_function *real_mask)
{
	struct ours *ours = &all[kind];
	int number = kind == SIGNALS_TRAP ? SIGTRAP : OUR_TIMER;
	struct sigaction target;

	if (ours->number)
		return true;
	libc_action = real_action;
	if (libc_action(number, NULL, &target) < 0)
		return false;
	set_target_action(ours, &target);
	ours->number = number;
	if (!install(ours)) {
		ours->number = 0;
		return false;
	}
	precedence_tell_ours(UINT64_C(1) << (number - 1));
	if (let_through(number, real_mask))
		threads_set_blocked(threads_blocked() | bit(ours));
	return true;
}

void signals_when_waited_for(void (*function)(void))
{
	when_waited_for = function;
}

int signals_number(enum signals_kind kind)
{
	return all[kind].number;
}

bool signals_is_ours(int number)
{
	return find(number);
}

static bool set_timer(int ticker, uint64_t period_ns)
{
	struct timespec period = { (time_t)(period_ns / 1000000000),
		                   (long)(period_ns % 1000000000) };
	// The first tick that hits the thread counts, so that short threads have their fair chance.
	struct itimerspec setting = { .it_interval = period, .it_value = { 0, period_ns ? 1 : 0 } };

	return syscall(SYS_timer_settime, ticker, 0, &setting, NULL) == 0;
}

bool ticker_start(uint32_t tid, uint64_t period_ns, int *ticker)
{
	// The kernel's name for the CPU clock of one thread; see clock_getcpuclockid(3).
	clockid_t clock = (clockid_t)(~tid << 3 | 4 | 2);
	struct sigevent event = {
		.sigev_notify = SIGEV_THREAD_ID,
		.sigev_signo = all[SIGNALS_TIMER].number,
		.sigev_value.sival_ptr = &tick_mark,
	};
	*ticker = -1;
	event._sigev_un._tid = (pid_t)tid;
	// Not timer_create(): glibc's may allocate.
	if (!event.sigev_signo || syscall(SYS_timer_create, clock, &event, ticker) < 0)
		return false;
	if (set_timer(*ticker, period_ns))
		return true;
	ticker_stop(*ticker);
	*ticker = -1;
	return false;
}

void ticker_stop(int ticker)
{
	syscall(SYS_timer_delete, ticker);
}

void ticker_pause(int ticker)
{
	set_timer(ticker, 0);
}

void ticker_resume(int ticker, uint64_t period_ns)
{
	set_timer(ticker, period_ns);
}

// Takes our signals out of SET, and returns which it held.
static unsigned take_ours(sigset_t *set)
{
	unsigned held = 0;

	for (int i = 0; i < SIGNALS_KINDS; i++) {
		if (!all[i].number || sigismember(set, all[i].number) != 1)
			continue;
		held |= bit(&all[i]);
		sigdelset(set, all[i].number);
	}
	return held;
}

static void put_ours(sigset_t *set, unsigned held)
{
	for (int i = 0; i < SIGNALS_KINDS; i++)
		if (all[i].number && held & bit(&all[i]))
			sigaddset(set, all[i].number);
}

// While the handler runs the thread is sampled like anywhere else.
static int other_action(signals_action_function *real, int number, const struct sigaction *action,
                        struct sigaction *old)
{
	bool is_number = number > 0 && number <= NSIG;
	unsigned before = is_number ? masked[number] : 0, held = 0;
	struct sigaction copy;

	if (action) {
		copy = *action;
		held = take_ours(&copy.sa_mask);
	}
	int result = real(number, action ? &copy : NULL, old);
	if (result != 0)
		return result;
	if (action && is_number)
		masked[number] = (uint8_t)held;
	if (old)
		put_ours(&old->sa_mask, before);
	return 0;
}

int signals_action(signals_action_function *real, int number, const struct sigaction *action,
                   struct sigaction *old)
{
	struct ours *ours = find(number);

	if (!ours)
		return other_action(real, number, action, old);
	struct sigaction before = action ? set_target_action(ours, action) : target_action(ours);
	if (action)
		install(ours);
	if (old)
		*old = before;
	return 0;
}

// What was blocked before our start, or has had to be since, the kernel tells.
int signals_mask(signals_mask_function *real, int how, const sigset_t *set, sigset_t *old)
{
	unsigned before = threads_blocked();
	sigset_t copy;

	if (set) {
		copy = *set;
		unsigned named = take_ours(&copy);
		// What the target blocked and what waits for that comes in the call: it is to be
		// let in by then.
		threads_set_blocked(how == SIG_SETMASK ? named
		                    : how == SIG_BLOCK ? before | named
		                                       : before & ~named);
	}
	int result = real(how, set && how != SIG_UNBLOCK ? &copy : set, old);
	if (result != 0)
		threads_set_blocked(before);
	else if (old)
		put_ours(old, before);
	if (before & ~threads_blocked() & bit(&all[SIGNALS_TIMER]))
		threads_resume_timer();
	return result;
}
