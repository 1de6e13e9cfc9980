// SPDX-License-Identifier: MIT
// Threads share a table under one lock, and hold it while they compute what goes in.
#include "fault.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>

#define ROUNDS  399
#define THREADS 3

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static double table[ROUNDS];

static double compute(int i)
{
	double sum = 0;

	for (int k = 1; k < 400000; k++) // fault: CPU-HOLDER
		sum += sqrt((double)k * (i + 1));
	return sum;
}

static void *work_locked(void *first)
{
	for (int i = *(int *)first; i < ROUNDS; i += THREADS) {
		pthread_mutex_lock(&lock);
		table[i] = compute(i);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static void *work(void *first)
{
	for (int i = *(int *)first; i < ROUNDS; i += THREADS) {
		double value = compute(i);

		pthread_mutex_lock(&lock);
		table[i] = value;
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static void run(void *(*function)(void *))
{
	int first[THREADS];
	pthread_t threads[THREADS];
	double sum = 0;

	for (int i = 0; i < THREADS; i++) {
		first[i] = i;
		pthread_create(&threads[i], NULL, function, &first[i]);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < ROUNDS; i++)
		sum += table[i];
	printf("%.0f\n", sum);
}

void faulty(void)
{
	run(work_locked);
}

void healthy(void)
{
	run(work);
}
