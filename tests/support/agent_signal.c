// SPDX-License-Identifier: MIT
#include "tests/support/agent_signal.h"

#include <signal.h>
#include <stdint.h>

void tick_by_timer(struct agent *a, struct lane *lane, const void *context, uint32_t overrun);

static void (*wanted)(const void *context);
static struct agent *ticking_agent;
static struct lane *ticking_lane;

static void on_signal(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	wanted(context);
}

void agent_signal_raise(void (*handler)(const void *context))
{
	struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO }, before;

	wanted = handler;
	sigaction(SIGUSR2, &action, &before);
	raise(SIGUSR2);
	sigaction(SIGUSR2, &before, NULL);
}

static void tick(const void *context)
{
	tick_by_timer(ticking_agent, ticking_lane, context, 0);
}

void agent_signal_tick(struct agent *agent, struct lane *lane)
{
	ticking_agent = agent;
	ticking_lane = lane;
	agent_signal_raise(tick);
}
