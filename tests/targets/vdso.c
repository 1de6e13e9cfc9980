// SPDX-License-Identifier: MIT
// Asks for the time all the time: the code that answers is in no file.
#include "truth.h"

#include <time.h>

static int at_work;

static NOINLINE void ask(int count)
{
	struct timespec time;

	for (int i = 0; i < count; i++)
		clock_gettime(CLOCK_MONOTONIC, &time);
}

static NOINLINE uint64_t work(uint64_t n)
{
	uint64_t x = n;

	SPIN(x, n, at_work);
	return x;
}

int main(void)
{
	uint64_t n = truth_steps(50);
	int count = 1000;

	// However fast the clock is here: 50 ms of it.
	for (uint64_t took = 0; took < 50000000; count *= 2) {
		uint64_t start = truth_cpu();
		ask(count);
		took = truth_cpu() - start;
		truth_add("total", "ask", 0, 0, took);
	}
	for (int round = truth_rounds(); round > 0; round--) {
		TRUTH("total", "ask", 0, ask(count / 2));
		TRUTH("self", "work", at_work, work(n));
	}
	truth_fact("least path", "main;ask", 40);
	truth_print();
	return 0;
}
