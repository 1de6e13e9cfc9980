// SPDX-License-Identifier: MIT
// Two threads of OpenMP meet at a barrier: one works four times as long as the other.
#include <omp.h>
#include <stdbool.h>
#include <time.h>

#include "truth.h"
#include "work.h"

#define ROUNDS 60

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
	pthread_t other = pthread_self();

	truth_open("left", "right");
#pragma omp parallel num_threads(2)
	{
		bool first = omp_get_thread_num() == 0;

		if (!first)
			other = pthread_self();
#pragma omp barrier
		for (int i = 0; i < ROUNDS; i++) {
			if (first) {
				left();
				truth_wait_for_thread(other);
			} else {
				right();
				truth_done(CLOCK_THREAD_CPUTIME_ID);
			}
#pragma omp barrier
			if (first)
				truth_go_on();
		}
	}
	truth_close();
	return 0;
}
