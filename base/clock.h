/* SPDX-License-Identifier: MIT */
/*
 * The one clock: CLOCK_MONOTONIC in nanoseconds. perf events are opened with
 * it (use_clockid), the agent's handlers read it, so times compare directly.
 */
#pragma once

#include <stdint.h>
#include <time.h>

#define NS_PER_SEC UINT64_C(1000000000)
#define NS_PER_MS  UINT64_C(1000000)
#define NS_PER_US  UINT64_C(1000)

static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t); // async-signal-safe
	return (uint64_t)t.tv_sec * NS_PER_SEC + (uint64_t)t.tv_nsec;
}

static inline uint64_t clock_now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* NS as a whole number that a profile can hold, which is 0 to INT64_MAX; 0 if it is no number. */
static inline uint64_t ns_whole(double ns)
{
	return !(ns > 0) ? 0 : ns < 0x1p63 ? (uint64_t)ns : INT64_MAX;
}
