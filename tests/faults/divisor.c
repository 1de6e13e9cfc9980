// SPDX-License-Identifier: MIT
// Remainders by a number that is known only at run time, and by a mask.
#include "fault.h"

#include <stdio.h>
#include <stdlib.h>

#define KEYS   4096
#define ROUNDS 40000

static unsigned long keys[KEYS];

__attribute__((noinline)) static unsigned long buckets(unsigned long count)
{
	unsigned long sum = 0;

	for (int i = 0; i < KEYS; i++) // fault: CPU-DIV
		sum += keys[i] % count;
	return sum;
}

__attribute__((noinline)) static unsigned long buckets_of_two(unsigned long count)
{
	unsigned long sum = 0, mask = count - 1;

	for (int i = 0; i < KEYS; i++)
		sum += keys[i] & mask;
	return sum;
}

static unsigned long prepare(void)
{
	for (unsigned long i = 0; i < KEYS; i++)
		keys[i] = i * 0x9e3779b97f4a7c15;
	return getenv("PATH") ? 1024 : 2048;
}

void faulty(void)
{
	unsigned long sum = 0, count = prepare();

	for (int round = 0; round < ROUNDS; round++) {
		keys[round % KEYS]++;
		sum += buckets(count);
	}
	printf("%lu\n", sum);
}

void healthy(void)
{
	unsigned long sum = 0, count = prepare();

	for (int round = 0; round < ROUNDS; round++) {
		keys[round % KEYS]++;
		sum += buckets_of_two(count);
	}
	printf("%lu\n", sum);
}
