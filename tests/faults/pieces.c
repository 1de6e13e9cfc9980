// SPDX-License-Identifier: MIT
// Threads take the iterations of a short loop one by one, and a thousand at once.
#include "fault.h"

#include <stdio.h>

#define CELLS  1000000
#define ROUNDS 80

static unsigned cells[CELLS];

static unsigned long long sum_by_one(unsigned seed)
{
	unsigned long long sum = 0;
#pragma omp parallel for num_threads(2) reduction(+ : sum) schedule(dynamic, 1)
	for (int i = 0; i < CELLS; i++)
		sum += (cells[i] ^ seed) % 1021; // fault: CPU-CHUNK
	return sum;
}

static unsigned long long sum_by_thousands(unsigned seed)
{
	unsigned long long sum = 0;
#pragma omp parallel for num_threads(2) reduction(+ : sum) schedule(dynamic, 1000)
	for (int i = 0; i < CELLS; i++)
		sum += (cells[i] ^ seed) % 1021;
	return sum;
}

static void run(unsigned long long (*sum)(unsigned), int rounds)
{
	unsigned long long all = 0, last = 0;

	for (unsigned i = 0; i < CELLS; i++)
		cells[i] = i * 2654435761u;
	for (int i = 0; i < rounds; i++) {
		last = sum((unsigned)i % 8);
		all += last & 1;
	}
	printf("%llu %d\n", last, all > 0);
}

void faulty(void)
{
	run(sum_by_one, ROUNDS);
}

void healthy(void)
{
	run(sum_by_thousands, 4 * ROUNDS);
}
