// SPDX-License-Identifier: MIT
#include "tracer/agent/hold.h"

#include "tracer/agent/precedence.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BIT(number) (UINT64_C(1) << ((number)-1))

// Of the calling thread's long hold; 0: it has none.
static __thread pid_t long_held __attribute__((tls_model("initial-exec")));
static __thread uint64_t long_mask __attribute__((tls_model("initial-exec")));

static bool set_mask(uint64_t mask, uint64_t *before)
{
	return syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, before, sizeof(mask)) == 0;
}

// Signals of the process are the main thread's to take, whatever its mask becomes.
static bool is_main_thread(void)
{
	return (pid_t)syscall(SYS_gettid) == getpid();
}

// From a mask that lets nothing in: only there can be seen what waits for the process.
static bool leave_to(uint64_t mask)
{
	precedence_give(mask);
	return set_mask(mask, NULL);
}

struct hold hold_signals(void)
{
	const uint64_t raised =
		BIT(SIGSEGV) | BIT(SIGBUS) | BIT(SIGFPE) | BIT(SIGILL) | BIT(SIGTRAP) | BIT(SIGSYS);
	const uint64_t most = ~raised;
	struct hold hold = { .held = true, .within = true };

	if (long_held)
		return hold;
	hold = (struct hold){ .main = is_main_thread() };
	if (hold.main) {
		hold.held = syscall(SYS_rt_sigprocmask, SIG_BLOCK, &most, &hold.mask,
		                    sizeof(most)) == 0;
		return hold;
	}
	if (set_mask(UINT64_MAX, &hold.mask))
		hold.held = leave_to(most | hold.mask);
	return hold;
}

void hold_end(struct hold hold)
{
	if (hold.within)
		return;
	if (hold.held && hold.main)
		set_mask(hold.mask, NULL);
	else if (hold.held && set_mask(UINT64_MAX, NULL))
		leave_to(hold.mask);
}

struct hold hold_long(void)
{
	struct hold hold = hold_signals();

	if (hold.held)
		long_held = (pid_t)syscall(SYS_gettid);
	long_mask = hold.mask;
	return hold;
}

void hold_long_end(struct hold hold)
{
	if (hold.held)
		long_held = 0;
	hold.mask = long_mask;
	hold_end(hold);
}

uint64_t *hold_long_mask(void)
{
	return long_held ? &long_mask : NULL;
}

pid_t hold_thread(void)
{
	return long_held ? long_held : (pid_t)syscall(SYS_gettid);
}
