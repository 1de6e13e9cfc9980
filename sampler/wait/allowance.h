/* SPDX-License-Identifier: MIT */
/*
 * How much CPU time may go into something beside the work: one part in ALLOWANCE_SHARE of the time,
 * and a little at once, as the first answers are worth most. Zeroed is a new one. One thread at a
 * time.
 */
#pragma once

#include "base/clock.h"

#include <stdbool.h>
#include <stdint.h>

#define ALLOWANCE_SHARE    100
#define ALLOWANCE_FIRST_NS (10 * NS_PER_MS)

struct allowance {
	uint64_t begin_ns; /* 0: it has not begun */
	uint64_t spent_ns;
	uint64_t start_ns; /* of what is being done, on the CPU clock of the thread */
};

/* False: not now. Else allowance_end() follows. */
static inline bool allowance_begin(struct allowance *a, uint64_t now_ns)
{
	if (!a->begin_ns)
		a->begin_ns = now_ns;
	uint64_t passed_ns = now_ns > a->begin_ns ? now_ns - a->begin_ns : 0;
	if (a->spent_ns > ALLOWANCE_FIRST_NS + passed_ns / ALLOWANCE_SHARE)
		return false;
	a->start_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	return true;
}

static inline void allowance_end(struct allowance *a)
{
	a->spent_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - a->start_ns;
}
