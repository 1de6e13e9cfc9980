// SPDX-License-Identifier: MIT
#include "tracer/agent/loader.h"
#include "tracer/agent/python/python_api.h"
#include "tracer/agent/sample/own_stack.h"
#include "tracer/agent/sample/signals.h"
#include "tracer/agent/wrap/wrap.h"

#include <dlfcn.h>

static void *next_sigaction, *next_signal, *next_sigprocmask, *next_pthread_sigmask,
	*next_sigaltstack;

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
	python_api_look();
	return signals_action(libc_sigaction(), number, action, old);
}

EXPORT sighandler_t signal(int number, sighandler_t handler)
{
	typedef sighandler_t signal_function(int, sighandler_t);
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };
	struct sigaction old;

	if (!signals_is_ours(number))
		return ((signal_function *)wrap_next(&next_signal, "signal"))(number, handler);
	signals_action(libc_sigaction(), number, &action, &old);
	return old.sa_handler;
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
