// SPDX-License-Identifier: MIT
// Five hundred threads at once, each with a little work.
#include "truth.h"

#include <pthread.h>

#define THREADS 500

static int at_work;
static pthread_barrier_t barrier;

static NOINLINE uint64_t work(uint64_t n)
{
	uint64_t x = n;

	SPIN(x, n, at_work);
	return x;
}

static void *run(void *context)
{
	uint64_t n = truth_steps(100.0 * truth_rounds() / THREADS);

	(void)context;
	pthread_barrier_wait(&barrier);
	// The kernel starts a new period with each thread, so most of what 500 threads do in their
	// first millisecond, outside of work(), is never sampled: 0.7 points of 3.7 in the mean,
	// and 3 of 5 where a busy machine makes them take longer to start.
	TRUTH("least self", "work", at_work, work(n));
	return NULL;
}

int main(void)
{
	static pthread_t threads[THREADS];
	pthread_attr_t small;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (int i = 0; i < THREADS; i++) {
		if (pthread_create(&threads[i], &small, run, NULL))
			return 1;
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	truth_print();
	return 0;
}
