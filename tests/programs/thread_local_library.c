// SPDX-License-Identifier: MIT
// A library with thread-local memory, which takes some time to begin, and allocates meanwhile. When
// many of them have come, who asks for such memory next has to make his table of it larger.
#include <stdlib.h>
#include <time.h>

#define BURN_S 0.003

__thread int of_each_thread;

static double cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((constructor)) static void begin(void)
{
	double end = cpu_s() + BURN_S;

	while (cpu_s() < end)
		for (size_t i = 0; i < 50; i++) {
			void *volatile block = malloc(100 + i * 1000);
			free(block);
		}
}
