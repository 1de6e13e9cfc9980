// SPDX-License-Identifier: MIT
// Two threads and a queue between them: the first one takes four times as long for each item.
#include "fault.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>

#define ITEMS 150
#define ROOM  4
#define WORK  5000000 // of both, for an item

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static double queue[ROOM];
static int added, taken;
static double items[ITEMS];

static double work(double seed, int count)
{
	double sum = 0;

	for (int k = 1; k <= count; k++)
		sum += sqrt(seed + k);
	return sum;
}

static void put(double item)
{
	pthread_mutex_lock(&lock);
	while (added - taken == ROOM)
		pthread_cond_wait(&changed, &lock);
	queue[added++ % ROOM] = item;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
}

static double get(void)
{
	double item;

	pthread_mutex_lock(&lock);
	while (added == taken)
		pthread_cond_wait(&changed, &lock);
	item = queue[taken++ % ROOM];
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
	return item;
}

static double decode(int i, int count)
{
	double sum = 0;

	for (int k = 1; k <= count; k++) // fault: CPU-STAGE
		sum += sqrt((double)k * (i + 1));
	return sum;
}

static void *produce(void *part)
{
	for (int i = 0; i < ITEMS; i++)
		put(decode(i, *(int *)part));
	return NULL;
}

static void run(int first)
{
	pthread_t producer;
	double sum = 0;

	pthread_create(&producer, NULL, produce, &first);
	for (int i = 0; i < ITEMS; i++) {
		items[i] = get();
		sum += work(i, WORK - first);
	}
	pthread_join(producer, NULL);
	printf("%d items%s\n", ITEMS, sum > 0 ? "" : " of nothing");
}

void faulty(void)
{
	run(WORK / 5 * 4);
}

void healthy(void)
{
	run(WORK / 2);
}
