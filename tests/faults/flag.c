// SPDX-License-Identifier: MIT
// The main thread re-reads a flag until another one has set it, and waits for that one's signal.
#include "fault.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static atomic_int done;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void *compute(void *sum)
{
	unsigned value = 1;

	for (int i = 0; i < 600000000; i++)
		value = value * 1664525 + 1013904223;
	*(unsigned *)sum = value;
	pthread_mutex_lock(&lock);
	atomic_store(&done, 1);
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
	return NULL;
}

void faulty(void)
{
	unsigned sum = 0;
	pthread_t thread;

	pthread_create(&thread, NULL, compute, &sum);
	while (!atomic_load(&done)) // fault: CPU-SPIN
		;
	pthread_join(thread, NULL);
	printf("%u\n", sum);
}

void healthy(void)
{
	unsigned sum = 0;
	pthread_t thread;

	pthread_create(&thread, NULL, compute, &sum);
	pthread_mutex_lock(&lock);
	while (!atomic_load(&done))
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	pthread_join(thread, NULL);
	printf("%u\n", sum);
}
