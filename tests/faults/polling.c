// SPDX-License-Identifier: MIT
// A consumer that sleeps and looks whether there is something to do.
#include "fault.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#define ITEMS 60

static atomic_int item, answer;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static unsigned compute(unsigned value)
{
	for (int i = 0; i < 200000; i++)
		value = value * 1664525 + 1013904223;
	return value;
}

static void *answer_polling(void *sum)
{
	for (int i = 1; i <= ITEMS; i++) {
		while (atomic_load(&item) != i)
			usleep(20000);
		*(unsigned *)sum += compute((unsigned)i);
		atomic_store(&answer, i);
	}
	return NULL;
}

static void *answer_waiting(void *sum)
{
	for (int i = 1; i <= ITEMS; i++) {
		pthread_mutex_lock(&lock);
		while (atomic_load(&item) != i)
			pthread_cond_wait(&changed, &lock);
		pthread_mutex_unlock(&lock);
		*(unsigned *)sum += compute((unsigned)i);
		pthread_mutex_lock(&lock);
		atomic_store(&answer, i);
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

void faulty(void)
{
	unsigned sum = 0;
	pthread_t thread;

	pthread_create(&thread, NULL, answer_polling, &sum);
	for (int i = 1; i <= ITEMS; i++) {
		atomic_store(&item, i);
		while (atomic_load(&answer) != i)
			usleep(20000); // fault: IO-SLEEP
	}
	pthread_join(thread, NULL);
	printf("%u\n", sum);
}

void healthy(void)
{
	unsigned sum = 0;
	pthread_t thread;

	pthread_create(&thread, NULL, answer_waiting, &sum);
	for (int i = 1; i <= ITEMS; i++) {
		pthread_mutex_lock(&lock);
		atomic_store(&item, i);
		pthread_cond_broadcast(&changed);
		while (atomic_load(&answer) != i)
			pthread_cond_wait(&changed, &lock);
		pthread_mutex_unlock(&lock);
	}
	pthread_join(thread, NULL);
	printf("%u\n", sum);
}
