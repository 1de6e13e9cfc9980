// SPDX-License-Identifier: MIT
// Each small piece of work wakes all workers, of whom one finds something to do.
#include "fault.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

#define JOBS    12000
#define WORKERS 32
#define ROUNDS  2000

struct queue {
	pthread_mutex_t mutex;
	pthread_cond_t some, taken;
	unsigned first, last, pieces; // pieces: of one job
	bool closed;
	unsigned long sum;
};

static unsigned long work(unsigned job)
{
	unsigned value = job;

	for (int i = 0; i < ROUNDS; i++)
		value = value * 1664525 + 1013904223;
	return value & 1;
}

static bool take(struct queue *q, unsigned *from, unsigned long done)
{
	pthread_mutex_lock(&q->mutex);
	q->sum += done;
	while (q->first == q->last && !q->closed)
		pthread_cond_wait(&q->some, &q->mutex); // fault: CPU-WAKE
	bool any = q->first != q->last;
	*from = q->first;
	q->first += any ? q->pieces : 0;
	pthread_cond_signal(&q->taken);
	pthread_mutex_unlock(&q->mutex);
	return any;
}

static void *serve(void *argument)
{
	struct queue *q = (struct queue *)argument;
	unsigned long done = 0;

	for (unsigned from; take(q, &from, done);) {
		done = 0;
		for (unsigned i = 0; i < q->pieces; i++)
			done += work(from + i);
	}
	return NULL;
}

static void run(int workers, unsigned pieces, int (*wake)(pthread_cond_t *))
{
	struct queue q = { .pieces = pieces };
	pthread_t threads[WORKERS];

	pthread_mutex_init(&q.mutex, NULL);
	pthread_cond_init(&q.some, NULL);
	pthread_cond_init(&q.taken, NULL);
	for (int i = 0; i < workers; i++)
		pthread_create(&threads[i], NULL, serve, &q);
	for (unsigned i = 0; i < JOBS; i += pieces) {
		pthread_mutex_lock(&q.mutex);
		while (q.last - q.first > 2 * pieces)
			pthread_cond_wait(&q.taken, &q.mutex);
		q.last += pieces;
		wake(&q.some);
		pthread_mutex_unlock(&q.mutex);
	}
	pthread_mutex_lock(&q.mutex);
	q.closed = true;
	pthread_cond_broadcast(&q.some);
	pthread_mutex_unlock(&q.mutex);
	for (int i = 0; i < workers; i++)
		pthread_join(threads[i], NULL);
	printf("%lu\n", q.sum);
}

void faulty(void)
{
	run(WORKERS, 1, pthread_cond_broadcast);
}

void healthy(void)
{
	run(2, 500, pthread_cond_signal);
}
