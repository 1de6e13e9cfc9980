/* SPDX-License-Identifier: MIT */
/*
 * What becomes of a tick: a sample of the thread that it has interrupted, with the time that it
 * stands for.
 *
 * For handlers: no allocation, no lock. Whose interpreter runs in the process says so once, and is
 * asked at each tick from then on.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct agent;
struct lane;
struct python_chain;

/* A CPU-time tick of LANE's thread, which is the caller; CONTEXT is the handler's. */
void tick_by_timer(struct agent *a, struct lane *lane, const void *context, uint32_t overrun);

/* The same from a trap, which has WAITED while it was blocked, or has not. */
void tick_by_trap(struct agent *a, struct lane *lane, const void *context, bool waited);

/* An interpreter of the process; its functions are called by handlers, with WALK_STACK of stack. */
struct tick_interpreter {
	/* The frames that LANE's thread runs; no count: none. NULL: there is no room for them. */
	struct python_chain *(*walk)(struct agent *a, struct lane *lane, const void *context);

	/* A tick is over but for its sample; the thread's CPU clock stands at CPU_NS. */
	void (*tick)(const struct lane *lane, const void *context, uint64_t cpu_ns);
};

/* There is one now. I lives as long as the process. */
void tick_use_interpreter(const struct tick_interpreter *i);
