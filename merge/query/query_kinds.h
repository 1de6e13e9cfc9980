/* SPDX-License-Identifier: MIT */
/*
 * Threads by the function that they begin in.
 *
 * That is the outermost function of the user's own on their stacks, as passed to pthread_create(),
 * std::thread or threading.Thread: all threads of a program may have its name. Threads that were
 * never sampled in one, as where a program has no symbols, are of the kind that their name says.
 * Threads that never ran, or that the profile does not keep apart, are left out.
 */
#pragma once

#include "base/cleanup.h"
#include "merge/query/query.h"

#include <stddef.h>
#include <stdint.h>

struct error;

/* One thread, in the window of the query. Times are in ns, and its life since the run began. */
struct kind_thread {
	uint32_t slot; /* of the profile's threads */
	uint32_t tid;
	uint32_t kind; /* index of its kind */
	uint64_t cpu_ns, ready_ns;
	uint64_t begin_ns, end_ns; /* end: the run's, if it outlived that */
};

struct thread_kind {
	const char *function; /* or the name of the threads; never NULL; the profile's */
	const char *file;     /* NULL if unknown */
	size_t first, count;  /* of its threads, which lie together, the most CPU time first */
};

struct thread_kinds {
	struct thread_kind *kinds;
	size_t count;
	struct kind_thread *threads;
	size_t thread_count;
};

/* Without the first threads of processes. NULL on error. */
struct thread_kinds *query_kinds(const struct profile *p, const struct query *query,
                                 struct error *err);
void thread_kinds_free(struct thread_kinds *kinds);

CLEANUP(thread_kinds, struct thread_kinds *, thread_kinds_free)
