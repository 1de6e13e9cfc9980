// SPDX-License-Identifier: MIT
// Two threads of OpenMP meet at a barrier: one works four times as long as the other.
#include <omp.h>
#include <time.h>

#define ROUNDS 60

#define WORK(ms)                                                                                   \
	do {                                                                                       \
		struct timespec t;                                                                 \
		double now, end = 0;                                                               \
		do {                                                                               \
			for (volatile int i = 0; i < 20000; i++)                                   \
				;                                                                  \
			clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);                                \
			now = (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;                    \
			end = end > 0 ? end : now + (ms);                                          \
		} while (now < end);                                                               \
	} while (0)

__attribute__((noinline)) static void left(void)
{
	WORK(2);
}

__attribute__((noinline)) static void right(void)
{
	WORK(8);
}

int main(void)
{
#pragma omp parallel num_threads(2)
	for (int i = 0; i < ROUNDS; i++) {
		if (omp_get_thread_num() == 1)
			right();
		else
			left();
#pragma omp barrier
	}
	return 0;
}
