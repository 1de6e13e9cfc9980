/* SPDX-License-Identifier: MIT */
/*
 * Work of a known length, for programs whose waits have a known truth. It is CPU time, so that a
 * busy machine changes how long it takes and not what it is.
 *
 * A loop whose turns take a multiple of the kernel's tick is in step with it, and samples that
 * follow the tick meet it always at one place, or never. With OUT_OF_STEP in the environment each
 * short piece of work is up to a quarter shorter or longer, by turns that are even on average.
 */
#pragma once

#include <stdlib.h>
#include <time.h>

#define WORK_SHORT_MS 20 // longer ones come once

static __thread unsigned work_turns;

static inline double work_of(double ms)
{
	if (ms > WORK_SHORT_MS || !getenv("OUT_OF_STEP"))
		return ms;
	double turns = 0.618034 * ++work_turns; // the golden section: no step is met again
	return ms * (0.75 + 0.5 * (turns - (double)(unsigned)turns));
}

// The function that it stands in works for MS of CPU time.
#define WORK(ms)                                                                                   \
	do {                                                                                       \
		struct timespec t;                                                                 \
		double now, end = 0;                                                               \
		do {                                                                               \
			for (volatile int i = 0; i < 20000; i++)                                   \
				;                                                                  \
			clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);                                \
			now = (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;                    \
			end = end > 0 ? end : now + work_of(ms);                                   \
		} while (now < end);                                                               \
	} while (0)
