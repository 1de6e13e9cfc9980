// SPDX-License-Identifier: MIT
#include "tests/gpu/fake_clock.h"

#include "base/clock.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

static _Atomic int64_t offset_ns; // told - ours
static atomic_bool is_measured;

static uint64_t real_time(void)
{
	return clock_ns(CLOCK_REALTIME);
}

void fake_wait_until(uint64_t ns)
{
	struct timespec t = { (time_t)(ns / NS_PER_SEC), (long)(ns % NS_PER_SEC) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

void fake_burn(uint64_t ns)
{
	for (uint64_t end = clock_now_ns() + ns; clock_now_ns() < end;)
		;
}

void fake_clock_set(cupti_clock *clock)
{
	if (!clock)
		clock = real_time;
	uint64_t before = clock_now_ns(), told = clock(), after = clock_now_ns();
	// It is our own clock: no difference, rather than the reading's error.
	bool is_ours = before <= told && told <= after;
	offset_ns = is_ours ? 0 : (int64_t)(told - (before + after) / 2);
	is_measured = true;
}

uint64_t fake_clock_told(uint64_t ns)
{
	if (!is_measured)
		fake_clock_set(NULL);
	return ns ? ns + (uint64_t)offset_ns : 0;
}
