// SPDX-License-Identifier: MIT
/*
 * Threads that want CPUs: contender KIND THREADS SECONDS
 *
 *	spin   each computes by itself
 *	meet   they compute in rounds, and meet at a barrier after each, for three times SECONDS at
 *most openmp the same, in a loop of OpenMP's
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ROUND_NS 12e6 /* of each thread: more than it may run before others do */

static pthread_barrier_t barrier;
static double end_ns;
static _Atomic int rounds; // the first thread makes them fewer when the time is up
static int threads;

static double now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static void compute(double cpu_ns)
{
	double until_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) + cpu_ns;
	volatile unsigned long sum = 0;

	while (now_ns(CLOCK_THREAD_CPUTIME_ID) < until_ns)
		for (int i = 0; i < 20000; i++)
			sum += (unsigned long)i;
}

static void *spin(void *argument)
{
	while (now_ns(CLOCK_MONOTONIC) < end_ns)
		compute(1e6);
	return argument;
}

static void *meet(void *argument)
{
	for (int i = 0; i < rounds; i++) {
		compute(ROUND_NS);
		// The others read it behind the barrier: all of them leave after this round.
		if (argument && now_ns(CLOCK_MONOTONIC) > end_ns)
			rounds = i + 1;
		pthread_barrier_wait(&barrier);
	}
	return argument;
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	threads = atoi(argv[2]);
	double seconds = atof(argv[3]);
	end_ns = now_ns(CLOCK_MONOTONIC) + 1e9 * seconds;
	// Rounds take about that long with all CPUs. Beside busy neighbours one may take half a
	// second.
	if (strcmp(argv[1], "spin") != 0)
		end_ns += 2e9 * seconds;
	rounds = (int)(1e9 * seconds * (double)sysconf(_SC_NPROCESSORS_ONLN) / ROUND_NS / threads);
	rounds += !rounds;
#ifdef _OPENMP
	if (strcmp(argv[1], "openmp") == 0) {
		for (int i = 0; i < rounds && now_ns(CLOCK_MONOTONIC) < end_ns; i++) {
#pragma omp parallel num_threads(threads)
			compute(ROUND_NS);
		}
		return 0;
	}
#endif
	void *(*work)(void *) = strcmp(argv[1], "meet") == 0 ? meet : spin;
	pthread_t *handles = calloc((size_t)threads, sizeof(*handles));
	pthread_barrier_init(&barrier, NULL, (unsigned)threads);
	for (int i = 1; i < threads; i++)
		pthread_create(&handles[i], NULL, work, NULL);
	work(handles);
	for (int i = 1; i < threads; i++)
		pthread_join(handles[i], NULL);
	return 0;
}
