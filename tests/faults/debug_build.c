// SPDX-License-Identifier: MIT
// Plain work, built without optimization; its healthy twin is the same source with it.
#include "fault.h"

#include <stdio.h>

#define COUNT  4096
#define ROUNDS 200000

static unsigned numbers[COUNT];

static void work(void)
{
	unsigned sum = 0;

	for (int round = 0; round < ROUNDS; round++)
		for (int i = 0; i < COUNT; i++)
			numbers[i] = numbers[i] * 31 + (unsigned)(i ^ round); // fault: CPU-DEBUG
	for (int i = 0; i < COUNT; i++)
		sum += numbers[i];
	printf("%u\n", sum);
}

void faulty(void)
{
	work();
}

void healthy(void)
{
	work();
}
