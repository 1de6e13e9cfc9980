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
 *
 * One that may not have a real-time priority gets no more of a CPU than each of the five hundred:
 * 4 ms a second of two CPUs, and after a turn that was too long none for half a second. So there
 * are several of them for small rings, of which all but one sleep while the
 * reader is in time.
 */
#pragma once

#include "sampler/perf/perf_ring.h"

#include <pthread.h>
#include <stdbool.h>

#define PERF_KEEPERS 4

/* Zeroed is one that does not run. */
struct perf_keeper {
	struct perf_rings *rings;
	pthread_t threads[PERF_KEEPERS];
	unsigned count; /* of them, that run */
	unsigned begun; /* that have begun: under LOCK */
	bool behind;    /* the reader is: under LOCK */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stop; /* under LOCK */
};

/* RINGS must stay until perf_keeper_stop(). Without a thread nothing is kept: that is no error. */
void perf_keeper_start(struct perf_keeper *k, struct perf_rings *rings);

/* It may never have started. */
void perf_keeper_stop(struct perf_keeper *k);
