// SPDX-License-Identifier: MIT
// A thread waits for another by asking again and again, giving its CPU away in between.
#include "fault.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>

#define ITEMS 50

static atomic_int done;
static sem_t ready;

static void *work(void *sum)
{
	unsigned value = 1;

	for (int i = 1; i <= ITEMS; i++) {
		for (int k = 0; k < 20000000; k++)
			value = value * 1664525 + 1013904223;
		atomic_store(&done, i);
		sem_post(&ready);
	}
	*(unsigned *)sum = value;
	return NULL;
}

void faulty(void)
{
	unsigned sum = 0;
	pthread_t thread;

	sem_init(&ready, 0, 0);
	pthread_create(&thread, NULL, work, &sum);
	for (int i = 1; i <= ITEMS; i++)
		while (atomic_load(&done) < i)
			sched_yield(); // fault: CPU-SPIN
	pthread_join(thread, NULL);
	printf("%u\n", sum);
}

void healthy(void)
{
	unsigned sum = 0;
	pthread_t thread;

	sem_init(&ready, 0, 0);
	pthread_create(&thread, NULL, work, &sum);
	for (int i = 1; i <= ITEMS; i++)
		sem_wait(&ready);
	pthread_join(thread, NULL);
	printf("%u\n", sum);
}
