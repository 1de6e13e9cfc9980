// SPDX-License-Identifier: MIT
// Two threads of OpenMP meet at a barrier: one works four times as long as the other.
#include <omp.h>
#include <time.h>

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
