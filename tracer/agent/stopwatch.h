/* SPDX-License-Identifier: MIT */
/*
 * CLOCK_MONOTONIC for hooks that are called millions of times a second.
 *
 * Reads the CPU's time stamp counter where the kernel itself keeps time by it,
 * and scales it by what the last second has shown the two clocks to differ:
 *
 *	anchor          now        next anchor (4 ms later, by clock_gettime)
 *	  |──── ticks × scale ──►|        |
 *
 * Between two anchors it is off by no more than the kernel's clock is steered
 * meanwhile (microseconds at the very worst). A counter that jumps (a virtual
 * machine was moved) is noticed at the next anchor, and clock_gettime() is used
 * from then on. Elsewhere, and for the first milliseconds, it is used as well.
 *
 * A stopwatch belongs to one thread. Its readings always grow.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct stopwatch {
	uint64_t base_ticks, base_ns; /* the anchor */
	uint64_t limit_ticks;         /* how far from it the scale is trusted; 0: not at all */
	uint64_t scale;               /* ns per tick, 32.32 bits */
	uint64_t last_ns;
	bool anchored; /* there has been an anchor since somebody cleared this */
};

/* Finds out whether this machine's counter can be used. One thread at a time, also in a handler. */
void stopwatch_start(void);

/* The slow way: sets a new anchor if there is a scale. Async-signal-safe. */
uint64_t stopwatch_anchor(struct stopwatch *w);

static inline uint64_t stopwatch_ticks(void)
{
#ifdef __x86_64__
	return __builtin_ia32_rdtsc();
#else
	return 0;
#endif
}

static inline uint64_t stopwatch_later(struct stopwatch *w, uint64_t ns)
{
	w->last_ns = ns > w->last_ns ? ns : w->last_ns + 1;
	return w->last_ns;
}

static inline uint64_t stopwatch_now_ns(struct stopwatch *w)
{
	uint64_t ticks = stopwatch_ticks() - w->base_ticks;

	if (__builtin_expect(ticks >= w->limit_ticks, 0))
		return stopwatch_anchor(w);
	return stopwatch_later(w, w->base_ns + (ticks * w->scale >> 32));
}
