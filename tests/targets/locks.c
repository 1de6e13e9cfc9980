// SPDX-License-Identifier: MIT
// Four threads that hold one lock in turn: one works, three wait.
#include "truth.h"

#include <pthread.h>
#include <unistd.h>

#define THREADS 4

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int at_hold;

static NOINLINE uint64_t hold(uint64_t n)
{
	uint64_t x = n;

	SPIN(x, n, at_hold);
	return x;
}

static void *run(void *context)
{
	uint64_t n = truth_steps(10);

	(void)context;
	for (int round = truth_rounds() * 10 / THREADS; round > 0; round--) {
		TRUTH_OFF("lock", pthread_mutex_lock(&lock));
		TRUTH("self", "hold", at_hold, hold(n));
		pthread_mutex_unlock(&lock);
		usleep(1000); // or the others never get it
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++) {
		if (pthread_create(&threads[i], NULL, run, NULL))
			return 1;
	}
	for (int i = 0; i < THREADS; i++)
		TRUTH_OFF("lock", pthread_join(threads[i], NULL));
	truth_print();
	return 0;
}
