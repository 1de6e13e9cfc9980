// SPDX-License-Identifier: MIT
#include "tracer/agent/hold.h"

#include "tracer/agent/precedence.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BIT(number) (UINT64_C(1) << ((number)-1))

static bool set_mask(uint64_t mask, uint64_t *before)
{
	return syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, before, sizeof(mask)) == 0;
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
	struct hold hold = { 0, false };

	if (!set_mask(UINT64_MAX, &hold.mask))
		return hold;
	hold.held = leave_to(~raised | hold.mask);
	return hold;
}

void hold_end(struct hold hold)
{
	if (hold.held && set_mask(UINT64_MAX, NULL))
		leave_to(hold.mask);
}
