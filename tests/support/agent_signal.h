/* SPDX-License-Identifier: MIT */
/*
 * Real signal contexts for tests that cannot include <signal.h>.
 */
#pragma once

struct agent;
struct lane;

/* Raises a signal; HANDLER gets the context. */
void agent_signal_raise(void (*handler)(const void *context));

/* tick_by_timer() in a handler, without overrun. */
void agent_signal_tick(struct agent *agent, struct lane *lane);
