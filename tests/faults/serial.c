// SPDX-License-Identifier: MIT
// What is computed by two threads is first loaded by one alone.
#include "fault.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>

#define ITEMS 4000

static double table[ITEMS], sums[ITEMS];

struct part {
	int first, end;
};

static void *load(void *argument)
{
	const struct part *part = (const struct part *)argument;

	for (int i = part->first; i < part->end; i++)
		for (int k = 1; k < 60000; k++) // fault: CPU-ALONE
			table[i] += sqrt((double)k + i);
	return NULL;
}

static void *solve(void *argument)
{
	const struct part *part = (const struct part *)argument;

	for (int i = part->first; i < part->end; i++)
		for (int k = 1; k < 60000; k++)
			sums[i] += sqrt(table[i] + k);
	return NULL;
}

static void in_two(void *(*function)(void *))
{
	struct part parts[2] = { { 0, ITEMS / 2 }, { ITEMS / 2, ITEMS } };
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, function, &parts[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

static void finish(void)
{
	double sum = 0;

	in_two(solve);
	for (int i = 0; i < ITEMS; i++)
		sum += sums[i];
	printf("%.0f\n", sum);
}

void faulty(void)
{
	struct part all = { 0, ITEMS };

	load(&all);
	finish();
}

void healthy(void)
{
	in_two(load);
	finish();
}
