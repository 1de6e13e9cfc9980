// SPDX-License-Identifier: MIT
// Eight threads, the i-th with i + 1 shares of the work.
#include "truth.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>

#define THREADS 8

static int at_even, at_odd;

static NOINLINE uint64_t even_work(uint64_t n)
{
	uint64_t x = n;

	SPIN(x, n, at_even);
	return x;
}

static NOINLINE uint64_t odd_work(uint64_t n)
{
	uint64_t x = n;

	SPIN(x, n, at_odd);
	return x;
}

static void *run(void *context)
{
	int index = *(int *)context;
	uint64_t start = truth_cpu(), n = truth_steps(100.0 / 36 * (index + 1));
	char name[16];

	snprintf(name, sizeof(name), "worker-%d", index);
	prctl(PR_SET_NAME, name);
	for (int round = truth_rounds(); round > 0; round--) {
		if (index % 2)
			TRUTH("self", "odd_work", at_odd, odd_work(n));
		else
			TRUTH("self", "even_work", at_even, even_work(n));
	}
	uint64_t took = truth_cpu() - start;
	truth_add("thread", name, 0, 0, took);
	truth_add("total", "run", 0, 0, took);
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	int index[THREADS];

	for (int i = 0; i < THREADS; i++) {
		index[i] = i;
		if (pthread_create(&threads[i], NULL, run, &index[i]))
			return 1;
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	truth_fact("most total", "run", 100);
	truth_print();
	return 0;
}
