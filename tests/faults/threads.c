// SPDX-License-Identifier: MIT
// A thread of its own for every small piece of work.
#include "fault.h"

#include <pthread.h>
#include <stdio.h>

#define PIECES 20000

static void *work(void *argument)
{
	unsigned *value = (unsigned *)argument;

	for (int i = 0; i < 1000; i++)
		*value = *value * 1664525 + 1013904223;
	return NULL;
}

void faulty(void)
{
	unsigned sum = 1;

	for (int i = 0; i < PIECES; i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, work, &sum); // fault: CPU-THREADS
		pthread_join(thread, NULL);
	}
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
