// SPDX-License-Identifier: MIT
#include "tracer/agent/loader.h"
#include "tracer/agent/provider.h"
#include "tracer/agent/sample/own_stack.h"
#include "tracer/agent/sample/signals.h"
#include "tracer/agent/wrap/wrap.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

static bool interrupts; // of our signals, those that signal() sets from now on: siginterrupt()
static void *next_sigaction, *next_signal, *next_sigprocmask, *next_pthread_sigmask,
	*next_sigaltstack, *next_sysv_signal, *next_sigset, *next_siginterrupt;

void *wrap_next(void **cache, const char *name)
{
	void *found = __atomic_load_n(cache, __ATOMIC_RELAXED);

	if (!found) {
		loader_enter();
		found = dlsym(RTLD_NEXT, name);
		loader_leave();
		__atomic_store_n(cache, found, __ATOMIC_RELAXED);
	}
	return found;
}

static signals_action_function *libc_sigaction(void)
{
	return (signals_action_function *)wrap_next(&next_sigaction, "sigaction");
}

static signals_mask_function *libc_sigmask(void)
{
	return (signals_mask_function *)wrap_next(&next_pthread_sigmask, "pthread_sigmask");
}

bool wrap_find_signals(void)
{
	wrap_next(&next_sysv_signal, "__sysv_signal");
	wrap_next(&next_sigset, "sigset");
	wrap_next(&next_siginterrupt, "siginterrupt");
	return libc_sigaction() && libc_sigmask() && wrap_next(&next_signal, "signal") &&
	       wrap_next(&next_sigprocmask, "sigprocmask") &&
	       wrap_next(&next_sigaltstack, "sigaltstack");
}

bool wrap_start_signals(enum signals_kind kind)
{
	return wrap_find_signals() && signals_start(kind, libc_sigaction(), libc_sigmask());
}

EXPORT int sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
	// An interpreter that begins is here before it runs anything of the program's.
	providers_before_action();
	return signals_action(libc_sigaction(), number, action, old);
}

// NOLINTNEXTLINE(bugprone-reserved-identifier): the name is glibc's
EXPORT int __sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
	return sigaction(number, action, old);
}

typedef sighandler_t signal_function(int, sighandler_t);

// Another signal's handler is set by libc's function NAME; by sigaction() where it has none.
static sighandler_t set_handler(void **cache, const char *name, int number, sighandler_t handler,
                                int flags)
{
	signal_function *next =
		signals_is_ours(number) ? NULL : (signal_function *)wrap_next(cache, name);
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };
	struct sigaction old;

	if (next)
		return next(number, handler);
	if (signals_action(libc_sigaction(), number, &action, &old) < 0)
		return SIG_ERR;
	return old.sa_handler;
}

// The functions that older standards have for signal(): BSD's, and System V's, which programs get
// that were built for X/Open without GNU's extensions.
EXPORT sighandler_t signal(int number, sighandler_t handler)
{
	return set_handler(&next_signal, "signal", number, handler, interrupts ? 0 : SA_RESTART);
}

EXPORT sighandler_t ssignal(int number, sighandler_t handler)
{
	return signal(number, handler);
}

EXPORT sighandler_t bsd_signal(int number, sighandler_t handler)
{
	return signal(number, handler);
}

EXPORT sighandler_t __sysv_signal(int number, sighandler_t handler)
{
	return set_handler(&next_sysv_signal, "__sysv_signal", number, handler,
	                   SA_RESETHAND | SA_NODEFER);
}

EXPORT sighandler_t sysv_signal(int number, sighandler_t handler)
{
	return __sysv_signal(number, handler);
}

static int change_mask(int how, int number)
{
	sigset_t set;

	if (sigemptyset(&set) < 0 || sigaddset(&set, number) < 0)
		return -1;
	return sigprocmask(how, &set, NULL);
}

EXPORT int sighold(int number)
{
	return change_mask(SIG_BLOCK, number);
}

EXPORT int sigrelse(int number)
{
	return change_mask(SIG_UNBLOCK, number);
}

EXPORT int sigignore(int number)
{
	struct sigaction action = { .sa_handler = SIG_IGN };

	return sigaction(number, &action, NULL);
}

EXPORT sighandler_t sigset(int number, sighandler_t handler)
{
	struct sigaction action = { .sa_handler = handler }, old;
	sigset_t set, before;

	if (!signals_is_ours(number) && wrap_next(&next_sigset, "sigset"))
		return ((signal_function *)next_sigset)(number, handler);
	sigemptyset(&set);
	sigaddset(&set, number);
	if (handler == SIG_ERR ||
	    sigaction(number, handler == SIG_HOLD ? NULL : &action, &old) < 0 ||
	    sigprocmask(handler == SIG_HOLD ? SIG_BLOCK : SIG_UNBLOCK, &set, &before) < 0)
		return SIG_ERR;
	return sigismember(&before, number) == 1 ? SIG_HOLD : old.sa_handler;
}

EXPORT int siginterrupt(int number, int interrupt)
{
	typedef int function(int, int);
	struct sigaction action;

	if (!signals_is_ours(number) && wrap_next(&next_siginterrupt, "siginterrupt"))
		return ((function *)next_siginterrupt)(number, interrupt);
	if (sigaction(number, NULL, &action) < 0)
		return -1;
	interrupts = interrupt;
	action.sa_flags = interrupt ? action.sa_flags & ~SA_RESTART : action.sa_flags | SA_RESTART;
	return sigaction(number, &action, NULL);
}

EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	return signals_mask((signals_mask_function *)wrap_next(&next_sigprocmask, "sigprocmask"),
	                    how, set, old);
}

EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	return signals_mask(libc_sigmask(), how, set, old);
}

EXPORT int sigaltstack(const stack_t *stack, stack_t *old)
{
	return own_stack_alternate(
		(own_stack_function *)wrap_next(&next_sigaltstack, "sigaltstack"), stack, old);
}

const char *wrap_signal_names(size_t i)
{
	static const char *const names[] = {
		"sigaction",   "__sigaction",     "signal",      "ssignal",
		"bsd_signal",  "sysv_signal",     "sigset",      "sigrelse",
		"sighold",     "__sysv_signal",   "sigignore",   "siginterrupt",
		"sigprocmask", "pthread_sigmask", "sigaltstack", "syscall",
	};

	return i < sizeof(names) / sizeof(names[0]) ? names[i] : NULL;
}

// As the kernel has it.
struct raw_action {
	void *handler;
	unsigned long flags;
	void *restorer;
	uint64_t mask;
};

static long fail(int error)
{
	errno = error;
	return -1;
}

// rt_sigaction() by number, of a signal that is ours.
static long raw_action(int number, const struct raw_action *action, struct raw_action *old)
{
	struct sigaction wanted = { 0 }, before;
	struct raw_action in, out = { 0 };

	if ((action && !wrap_peek(&in, action, sizeof(in))) ||
	    (old && !wrap_peek(&out, old, sizeof(out))))
		return fail(EFAULT);
	if (action) {
		wanted.sa_handler = (sighandler_t)in.handler;
		wanted.sa_flags = (int)in.flags;
		wanted.sa_restorer = (void (*)(void))in.restorer;
		memcpy(&wanted.sa_mask, &in.mask, sizeof(in.mask));
	}
	signals_action(libc_sigaction(), number, action ? &wanted : NULL, &before);
	if (old) {
		out.handler = (void *)before.sa_handler;
		out.flags = (unsigned)before.sa_flags;
		out.restorer = (void *)before.sa_restorer;
		memcpy(&out.mask, &before.sa_mask, sizeof(out.mask));
		*old = out;
	}
	return 0;
}

__attribute__((used, visibility("hidden"))) long
wrap_raw_action(long call, long number, const void *action, void *old, long size)
{
	typedef long function(long, ...);

	if (size == sizeof(uint64_t) && signals_is_ours((int)number))
		return raw_action((int)number, action, old);
	return ((function *)wrap_find_syscall())(call, number, action, old, size);
}
