// SPDX-License-Identifier: MIT
// Many more threads than CPUs, which wait for each other in every round, and spin: whoever spins
// keeps a CPU from those that it waits for.
#include "fault.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ROUNDS 4
#define WORK   240000000

static atomic_uint arrived;
static unsigned threads;
static unsigned long sums[1024];

static void *work(void *argument)
{
	unsigned long *sum = (unsigned long *)argument, value = 1;

	for (int round = 0; round < ROUNDS; round++) {
		for (unsigned i = WORK / threads; i; value = 5 * value + i--) // fault: CPU-OVERSUB
			;
		*sum += value & 1;
		atomic_fetch_add(&arrived, 1);
		while (atomic_load(&arrived) < threads * (unsigned)(round + 1))
			;
	}
	return NULL;
}

static void run(unsigned count)
{
	pthread_t *handles = (pthread_t *)calloc(count, sizeof(*handles));

	threads = count;
	for (unsigned i = 0; i < count; i++)
		pthread_create(&handles[i], NULL, work, &sums[i]);
	for (unsigned i = 0; i < count; i++)
		pthread_join(handles[i], NULL);
	free(handles);
	printf("%d rounds\n", ROUNDS);
}

void faulty(void)
{
	run(12 * (unsigned)sysconf(_SC_NPROCESSORS_ONLN));
}

void healthy(void)
{
	run((unsigned)sysconf(_SC_NPROCESSORS_ONLN));
}
