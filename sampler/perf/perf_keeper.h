/* SPDX-License-Identifier: MIT */
/*
 * Keeps rings from running over while their reader is blocked.
 *
 * Reading another process's memory takes its mmap lock. Where a thread of the
 * target has that lock and waits for a CPU behind five hundred others, the
 * reader waits as long, whatever its own priority: up to two seconds, in which
 * rings that hold a quarter of a second lost three samples of four. So a thread
 * looks at them 50 times a second, with the priority of the reader, and keeps
 * the records of those that are half full (perf_rings_relieve()).
 */
#pragma once

#include "sampler/perf/perf_ring.h"

#include <pthread.h>
#include <stdbool.h>

/* Zeroed is one that does not run. */
struct perf_keeper {
	struct perf_rings *rings;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool runs;
	bool stop; /* under LOCK */
};

/* RINGS must stay until perf_keeper_stop(). Without a thread nothing is kept: that is no error. */
void perf_keeper_start(struct perf_keeper *k, struct perf_rings *rings);

/* It may never have started. */
void perf_keeper_stop(struct perf_keeper *k);
