// SPDX-License-Identifier: MIT
// Threads that begin while the one that starts them is bound to a CPU, and so share it.
#include "fault.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#define WORK 500000000

static void *work(void *argument)
{
	unsigned long *sum = (unsigned long *)argument, value = 1;

	for (unsigned i = WORK; i; value = 5 * value + i--) // fault: CPU-BOUND
		;
	*sum = value;
	return NULL;
}

// What is read should stay in the caches of one CPU.
static unsigned long read_scene(cpu_set_t *all)
{
	unsigned long value = 1;
	cpu_set_t first;

	if (sched_getaffinity(0, sizeof(*all), all) < 0 || CPU_COUNT(all) < 2)
		exit(77);
	CPU_ZERO(&first);
	for (int cpu = 0; !CPU_COUNT(&first); cpu++)
		if (CPU_ISSET(cpu, all))
			CPU_SET(cpu, &first);
	sched_setaffinity(0, sizeof(first), &first);
	for (unsigned i = WORK / 100; i; value = 3 * value + i--)
		;
	return value;
}

static void run(int unbind)
{
	unsigned long sums[2];
	pthread_t threads[2];
	cpu_set_t all;
	unsigned long sum = read_scene(&all);

	if (unbind)
		sched_setaffinity(0, sizeof(all), &all);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, work, &sums[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("%lu\n", sum + sums[0] + sums[1]);
}

void faulty(void)
{
	run(0);
}

void healthy(void)
{
	run(1);
}
