/* SPDX-License-Identifier: MIT */
/*
 * Events of one kind may come in storms, which would cost the program more than they are worth and
 * crowd out all others: pauses keep to a budget. Plain data; zeroed is one that has spent nothing.
 */
#pragma once

#include "base/clock.h"

#include <stdbool.h>
#include <stdint.h>

struct perf_storm {
	int64_t credit;       /* events that the budget still allows */
	uint64_t credited_ns; /* when it was last added to */
	uint64_t paused_ns;   /* how long they have been paused, up to the last change */
	bool paused;
};

enum perf_storm_change {
	PERF_STORM_SAME,
	PERF_STORM_PAUSE,
	PERF_STORM_GO_ON
};

/* So many at once, and so many a second in the long run. */
struct perf_storm_budget {
	int64_t burst;
	uint64_t per_second;
};

static inline void perf_storm_charge(struct perf_storm *s, uint64_t events)
{
	s->credit -= events < INT32_MAX ? (int64_t)events : INT32_MAX;
}

/* What is to be done at NOW_NS, which comes after the last call's. */
static inline enum perf_storm_change
perf_storm_look(struct perf_storm *s, const struct perf_storm_budget *budget, uint64_t now_ns)
{
	uint64_t passed_ns = s->credited_ns ? now_ns - s->credited_ns : NS_PER_SEC;
	bool paused = s->paused;

	passed_ns = passed_ns < NS_PER_SEC ? passed_ns : NS_PER_SEC;
	if (paused)
		s->paused_ns += passed_ns;
	s->credit += (int64_t)(passed_ns * budget->per_second / NS_PER_SEC);
	s->credited_ns = now_ns;
	if (s->credit > budget->burst)
		s->credit = budget->burst;
	if (!paused && s->credit < 0)
		s->paused = true;
	else if (paused && s->credit == budget->burst)
		s->paused = false;
	return s->paused == paused ? PERF_STORM_SAME
	       : s->paused         ? PERF_STORM_PAUSE
	                           : PERF_STORM_GO_ON;
}
