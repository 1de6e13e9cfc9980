/* SPDX-License-Identifier: MIT */
/*
 * How much overhead is allowed, and the rates that keep to it.
 *
 * The cost is the collector's CPU time, and what handlers and hooks take in the target, against the
 * target's wall or CPU time, whichever is more, a window at a time. Rates fall when several windows
 * in a row are above the budget, one fewer where the cost is far above it, and only those of what
 * costs so much: samples while threads run, and stacks of threads that leave their CPU. What is
 * left of the budget by all else (ops, forks) is for both, each of which may have the half, and
 * what the other does not take; a quarter of the budget is always for each. So a rate never falls
 * for what something else costs.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define BUDGET_WINDOWS      3   /* in a row, above the budget */
#define BUDGET_FAR          2   /* times the budget: a window after another one counts twice */
#define BUDGET_LOWEST_HZ    49  /* below, a profile says nothing for minutes */
#define BUDGET_FALL_MAX     8   /* at most to one in so many, at once */
#define BUDGET_SWITCHES_MIN 100 /* a second: below, waits are better looked at one by one */

struct budget {
	double percent; /* 0: no limit */
	unsigned over;  /* windows in a row, as they count */
	double cost;    /* of the last window, in per cent */
	/* Of the last window whose verdict lowered a rate: what that took, in per cent. */
	double samples_cost, switches_cost;
	bool helpless; /* it was above the budget so long, and fewer samples would not help */
};

struct budget_window {
	uint64_t wall_ns;
	uint64_t target_cpu_ns; /* as samples show it */
	uint64_t collector_ns;  /* CPU time */
	double ticks;           /* what part of it came from on-CPU samples, 0 to 1, */
	double switches;        /* and what part from stacks of threads that leave their CPU */
	uint64_t switch_count;  /* of such stacks */
	uint64_t handlers_ns;   /* of the target's time: by the handlers of such samples */
	uint64_t hooks_ns;      /* the same by hooks of ops and allocations */
};

/* For what comes. */
struct budget_verdict {
	uint32_t frequency_hz;        /* the rate of samples, as it was or lower */
	uint32_t switches_per_second; /* stacks of waits at most; 0: as many as so far */
};

struct budget_verdict budget_judge(struct budget *b, const struct budget_window *window,
                                   uint32_t frequency_hz);
