// SPDX-License-Identifier: MIT
// Divisions of numbers that have decayed to next to nothing, and of larger ones.
#include "fault.h"

#include <stdio.h>

#define CELLS  4096
#define ROUNDS 60000

static double cells[CELLS];

__attribute__((noinline)) static void decay(double by, double source)
{
	for (int i = 0; i < CELLS; i++) // fault: CPU-SUBNORMAL
		cells[i] = cells[i] / by + source;
}

static void run(double start, double source)
{
	for (int i = 0; i < CELLS; i++)
		cells[i] = start;
	for (int round = 0; round < ROUNDS; round++)
		decay(1.0000001, source);
	printf("%d\n", cells[7] > 0);
}

void faulty(void)
{
	run(1e-309, 1e-313);
}

void healthy(void)
{
	run(1, 1e-4);
}
