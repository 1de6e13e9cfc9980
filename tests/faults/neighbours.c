// SPDX-License-Identifier: MIT
// Two threads count in variables of their own, which lie in one cache line.
#include "fault.h"

#include <pthread.h>
#include <stdio.h>

#define ROUNDS 400000000L

static struct {
	volatile long count;
} near[2] __attribute__((aligned(64)));

static struct {
	volatile long count;
} __attribute__((aligned(64))) apart[2];

static __attribute__((noinline)) void *count(void *counter)
{
	volatile long *mine = counter;

	for (long i = 0; i < ROUNDS; i++) // fault: CPU-LINE
		*mine += i & 3;
	return NULL;
}

static void run(volatile long *first, volatile long *second)
{
	pthread_t thread;

	pthread_create(&thread, NULL, count, (void *)first);
	count((void *)second);
	pthread_join(thread, NULL);
	printf("%ld\n", *first + *second);
}

void faulty(void)
{
	run(&near[0].count, &near[1].count);
}

void healthy(void)
{
	run(&apart[0].count, &apart[1].count);
}
