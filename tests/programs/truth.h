/* SPDX-License-Identifier: MIT */
/*
 * What the first thread of a program waited for, measured by the program itself: how long it
 * worked, and how long another thread or process worked while it waited for that one. Both are CPU
 * time, so that what a busy machine adds counts for neither.
 *
 *	first one    ███ truth_wait ···· truth_go_on ███
 *	other one    ████████████████████ truth_done ███
 *	                            └────┘ of it this counts
 *
 * With TRUTH in the environment it is written to that file: a line "NAME NS" for each. Waits have
 * numbers from 0 on, and so has what ends them.
 */
#pragma once

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <time.h>

#define TRUTH_WAITS 256

/* Shared with processes that are forked after truth_open(). */
struct truth {
	const char *own, *other;
	uint64_t own_ns, other_ns, since_ns, other_since_ns;
	unsigned waits, done;
	uint64_t done_ns[TRUTH_WAITS]; /* CPU time of the other one, as it ended each wait */
};
static struct truth *truth;

static inline uint64_t truth_ns(clockid_t clock)
{
	struct timespec t;

	return clock_gettime(clock, &t) ? 0 : (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Before there is another one. OWN and OTHER: the functions in which they work. */
static inline void truth_open(const char *own, const char *other)
{
	if (!getenv("TRUTH"))
		return;
	truth = mmap(NULL, sizeof(*truth), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
	             0);
	if (truth == MAP_FAILED)
		abort();
	truth->own = own;
	truth->other = other;
	truth->since_ns = truth_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* What the first one does from now on, up to its next wait, is not its work. */
static inline void truth_pause(void)
{
	if (truth && truth->since_ns != UINT64_MAX)
		truth->own_ns += truth_ns(CLOCK_THREAD_CPUTIME_ID) - truth->since_ns;
	if (truth)
		truth->since_ns = UINT64_MAX;
}

/* The first one begins to wait for the other one. */
static inline void truth_wait_for(clockid_t other)
{
	truth_pause();
	truth->other_since_ns = truth_ns(other);
}

static inline void truth_wait_for_thread(pthread_t thread)
{
	clockid_t clock;

	if (truth && pthread_getcpuclockid(thread, &clock) == 0)
		truth_wait_for(clock);
}

static inline void truth_wait_for_process(pid_t process)
{
	clockid_t clock;

	if (truth && clock_getcpuclockid(process, &clock) == 0)
		truth_wait_for(clock);
}

/* The other one has ended the next wait. */
static inline void truth_done(clockid_t own)
{
	if (truth && truth->done < TRUTH_WAITS)
		truth->done_ns[truth->done++] = truth_ns(own);
}

static inline void truth_go_on(void)
{
	if (!truth)
		return;
	uint64_t until_ns = truth->waits < TRUTH_WAITS ? truth->done_ns[truth->waits++] : 0;
	if (until_ns > truth->other_since_ns)
		truth->other_ns += until_ns - truth->other_since_ns;
	truth->since_ns = truth_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* The first one is at its end. */
static inline void truth_close(void)
{
	FILE *file = truth ? fopen(getenv("TRUTH"), "w") : NULL;

	if (!file)
		return;
	truth_pause();
	fprintf(file, "%s %llu\n%s %llu\n", truth->own, (unsigned long long)truth->own_ns,
	        truth->other, (unsigned long long)truth->other_ns);
	fclose(file);
}
