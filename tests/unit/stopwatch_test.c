// SPDX-License-Identifier: MIT
#include "tracer/agent/stopwatch.h"

#include "base/clock.h"
#include "tests/support/expect.h"

#include <unistd.h>

TestSuite(stopwatch, .init = stopwatch_start);

// How far a reading lies outside the two clock readings around it.
static uint64_t distance(struct stopwatch *w)
{
	uint64_t before = clock_now_ns();
	uint64_t told = stopwatch_now_ns(w);
	uint64_t after = clock_now_ns();

	return told < before ? before - told : told > after ? told - after : 0;
}

Test(stopwatch, it_tells_the_time_of_the_monotonic_clock)
{
	struct stopwatch w = { 0 };
	uint64_t end = clock_now_ns() + 300 * NS_PER_MS;
	uint64_t worst = 0, far = 0, readings = 0;

	while (clock_now_ns() < end) {
		uint64_t off = distance(&w);
		worst = off > worst ? off : worst;
		far += off > 2 * NS_PER_US;
		readings++;
	}
	// A reading can be late by as long as this thread lost its CPU in the middle of it.
	cr_expect(lt(u64, far * 1000, readings), "%lu of %lu are off by over 2 us, at most %lu ns",
	          far, readings, worst);
}

Test(stopwatch, readings_always_grow)
{
	struct stopwatch w = { 0 };
	uint64_t last = 0;

	for (int i = 0; i < 2000000; i++) {
		uint64_t now = stopwatch_now_ns(&w);
		cr_assert(gt(u64, now, last));
		last = now;
	}
}

Test(stopwatch, it_starts_anew_after_a_long_pause)
{
	struct stopwatch w = { 0 };

	for (int i = 0; i < 5; i++) {
		usleep(20000);
		cr_expect(lt(u64, distance(&w), 5 * NS_PER_US));
	}
}

Test(stopwatch, a_counter_that_jumps_is_left_alone)
{
	struct stopwatch w = { 0 };
	uint64_t end = clock_now_ns() + 400 * NS_PER_MS;

	// As if the counter had been set back by a millisecond in the middle of each stretch.
	while (clock_now_ns() < end) {
		w.base_ticks -= w.limit_ticks / 4;
		usleep(4000);
		stopwatch_now_ns(&w);
	}
	w.last_ns = 0;
	cr_expect(lt(u64, distance(&w), 5 * NS_PER_US));
	cr_expect(eq(u64, w.limit_ticks, 0), "by clock_gettime()");
}
