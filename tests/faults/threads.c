// SPDX-License-Identifier: MIT
// A thread of its own for every small piece of work.
#include "fault.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define PIECES 20000

static void *work(void *argument)
{
	unsigned *value = (unsigned *)argument;

	for (int i = 0; i < 1000; i++)
		*value = *value * 1664525 + 1013904223;
	return NULL;
}

static void start_one(unsigned *sum)
{
	pthread_t t;

	if (pthread_create(&t, NULL, work, sum) || pthread_join(t, NULL)) // fault: CPU-THREADS
		abort();
}

void faulty(void)
{
	unsigned sum = 1;

	for (int i = 0; i < PIECES; i++)
		start_one(&sum);
	printf("%u\n", sum);
}

static void *work_all(void *sum)
{
	for (int i = 0; i < PIECES; i++)
		work(sum);
	return NULL;
}

void healthy(void)
{
	unsigned sum = 1;
	pthread_t thread;

	pthread_create(&thread, NULL, work_all, &sum);
	pthread_join(thread, NULL);
	printf("%u\n", sum);
}
