// SPDX-License-Identifier: MIT
// One of two threads gets most of the work.
#include "fault.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>

#define ITEMS 3000

static double table[ITEMS];

struct part {
	int first, end;
};

static void *work(void *argument)
{
	const struct part *part = (const struct part *)argument;

	for (int i = part->first; i < part->end; i++)
		for (int k = 1; k < 80000; k++) // fault: CPU-IMBALANCE
			table[i] += sqrt((double)k + i);
	return NULL;
}

static void run(int border)
{
	struct part parts[2] = { { 0, border }, { border, ITEMS } };
	pthread_t threads[2];
	double sum = 0;

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, work, &parts[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < ITEMS; i++)
		sum += table[i];
	printf("%.0f\n", sum);
}

void faulty(void)
{
	run(ITEMS - ITEMS / 7);
}

void healthy(void)
{
	run(ITEMS / 2);
}
