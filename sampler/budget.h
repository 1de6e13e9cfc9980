/* SPDX-License-Identifier: MIT */
/*
 * What looking on may cost, and the rate that keeps to it.
 *
 * The cost is the collector's CPU time, and what handlers and hooks take in the target, against the
 * target's wall or CPU time, whichever is more, a window at a time. The rate falls when several
 * windows in a row are above the budget, and only if it is the samples that cost so much: fewer of
 * them would not make forks or ops any cheaper.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define BUDGET_WINDOWS   3  /* in a row, above the budget */
#define BUDGET_LOWEST_HZ 49 /* below, a profile says nothing for minutes */
#define BUDGET_FALL_MAX  8  /* at most to one in so many, at once */

struct budget {
	double percent; /* 0: no limit */
	unsigned over;  /* windows in a row */
	double cost;    /* of the last window, in per cent */
	bool helpless;  /* it was above the budget so long, and fewer samples would not help */
};

struct budget_window {
	uint64_t wall_ns;
	uint64_t target_cpu_ns; /* as samples show it */
	uint64_t collector_ns;  /* CPU time */
	double ticks;           /* what part of it came from on-CPU samples, 0 to 1 */
	uint64_t handlers_ns;   /* of the target's time: by the handlers of such samples */
	uint64_t hooks_ns;      /* the same by hooks of ops and allocations */
};

/* The rate for what comes: FREQUENCY_HZ, or less. */
uint32_t budget_judge(struct budget *b, const struct budget_window *window, uint32_t frequency_hz);
