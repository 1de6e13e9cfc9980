// SPDX-License-Identifier: MIT
// Threads that share the C library's generator of random numbers, and its lock.
#include "fault.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 2
#define DRAWS   8000000

static double shared_draw(unsigned *seed)
{
	(void)seed;
	return (double)rand() / RAND_MAX; // fault: CPU-RANDOM
}

static double own_draw(unsigned *seed)
{
	return (double)rand_r(seed) / RAND_MAX;
}

static double (*draw)(unsigned *seed);

// Whether half of the numbers are below a half.
static void *count(void *argument)
{
	unsigned *seed = (unsigned *)argument;
	long below = 0;

	for (int i = 0; i < DRAWS; i++)
		below += draw(seed) < 0.5;
	*seed = below > DRAWS / 5 * 2 && below < DRAWS / 5 * 3;
	return NULL;
}

static void count_all(void)
{
	unsigned seeds[THREADS];
	pthread_t threads[THREADS];

	for (unsigned i = 0; i < THREADS; i++) {
		seeds[i] = i + 1;
		if (pthread_create(&threads[i], NULL, count, &seeds[i]))
			abort();
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		printf("%u\n", seeds[i]);
	}
}

void faulty(void)
{
	draw = shared_draw;
	count_all();
}

void healthy(void)
{
	draw = own_draw;
	count_all();
}
