// SPDX-License-Identifier: MIT
#include "sampler/perf/perf_keeper.h"

#include "base/clock.h"
#include "sampler/priority.h"

#include <signal.h>
#include <stdint.h>
#include <time.h>

// The smallest rings that need not be told of hold 50 ms, and are relieved when half full.
#define PERIOD_NS (20 * NS_PER_MS)

static struct timespec after(uint64_t ns)
{
	uint64_t time_ns = clock_now_ns() + ns;

	return (struct timespec){ .tv_sec = (time_t)(time_ns / NS_PER_SEC),
		                  .tv_nsec = (long)(time_ns % NS_PER_SEC) };
}

static void *keep(void *context)
{
	struct perf_keeper *k = context;
	struct priority priority;

	priority_ask(&priority);
	priority_urgent(&priority);
	pthread_mutex_lock(&k->lock);
	bool first = k->begun++ == 0;
	while (!k->stop) {
		struct timespec until = after(PERIOD_NS);
		if (first || k->behind)
			pthread_cond_timedwait(&k->wake, &k->lock, &until);
		else
			pthread_cond_wait(&k->wake, &k->lock);
		if (k->stop)
			break;
		// Not with the lock: one that waits for a CPU must not keep the others.
		pthread_mutex_unlock(&k->lock);
		bool behind = perf_rings_relieve(k->rings);
		pthread_mutex_lock(&k->lock);
		if (behind && !k->behind)
			pthread_cond_broadcast(&k->wake);
		k->behind = behind;
	}
	pthread_mutex_unlock(&k->lock);
	return NULL;
}

static int start_thread(struct perf_keeper *k, pthread_t *thread)
{
	sigset_t all, before;

	// Signals are for the threads that were there before.
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int errnum = pthread_create(thread, NULL, keep, k);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return errnum;
}

void perf_keeper_start(struct perf_keeper *k, struct perf_rings *rings)
{
	pthread_condattr_t monotonic;

	k->rings = rings;
	k->stop = k->behind = false;
	k->begun = 0;
	pthread_mutex_init(&k->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&k->wake, &monotonic);
	pthread_condattr_destroy(&monotonic);
	for (unsigned i = 0; i < (rings->small ? PERF_KEEPERS : 1); i++)
		k->count += start_thread(k, &k->threads[k->count]) == 0;
}

void perf_keeper_stop(struct perf_keeper *k)
{
	if (!k->count)
		return;
	pthread_mutex_lock(&k->lock);
	k->stop = true;
	pthread_cond_broadcast(&k->wake);
	pthread_mutex_unlock(&k->lock);
	while (k->count)
		pthread_join(k->threads[--k->count], NULL);
	pthread_cond_destroy(&k->wake);
	pthread_mutex_destroy(&k->lock);
}
