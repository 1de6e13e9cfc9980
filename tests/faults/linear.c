// SPDX-License-Identifier: MIT
// Numbers are looked up in an array from its beginning, and by bisection.
#include "fault.h"

#include <stdio.h>

#define NUMBERS 4000
#define LOOKUPS 400000

static int numbers[NUMBERS];

__attribute__((noinline)) static int find(int wanted)
{
	for (int i = 0; i < NUMBERS; i++) // fault: CPU-SEARCH
		if (numbers[i] == wanted)
			return i;
	return -1;
}

__attribute__((noinline)) static int bisect(int wanted)
{
	int low = 0, high = NUMBERS;

	while (low < high) {
		int middle = (low + high) / 2;
		if (numbers[middle] < wanted)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void look_up(int (*how)(int wanted), int rounds)
{
	long sum = 0;

	for (int i = 0; i < NUMBERS; i++)
		numbers[i] = 3 * i;
	for (int round = 0; round < rounds; round++)
		for (int i = 0; i < LOOKUPS; i++)
			sum += how(3 * (i % NUMBERS));
	printf("%ld\n", sum / rounds);
}

void faulty(void)
{
	look_up(find, 1);
}

void healthy(void)
{
	look_up(bisect, 20);
}
