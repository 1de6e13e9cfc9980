// SPDX-License-Identifier: MIT
// Threads of a parallel loop count in a table under "omp critical", and each in its own by a
// reduction.
#include "fault.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#define CELLS  64
#define POINTS 1000000
#define ROUNDS 60

static int cell(unsigned point)
{
	return (int)(point >> 26);
}

static void count_in_turns(const unsigned *points, long cells[CELLS])
{
#pragma omp parallel for num_threads(2)
	for (int i = 0; i < POINTS; i++) {
		int at = cell(points[i]);
#pragma omp critical // fault: CPU-WAKE
		cells[at]++;
	}
}

static void count(const unsigned *points, long cells[CELLS])
{
#pragma omp parallel for num_threads(2) reduction(+ : cells[:CELLS])
	for (int i = 0; i < POINTS; i++)
		cells[cell(points[i])]++;
}

static void run(void (*how)(const unsigned *, long *), int rounds)
{
	unsigned *points = (unsigned *)malloc(POINTS * sizeof(*points)), state = 1;
	long cells[CELLS] = { 0 };

	for (int i = 0; points && i < POINTS; i++)
		points[i] = state = state * 1664525 + 1013904223;
	for (int i = 0; points && i < rounds; i++)
		how(points, cells);
	printf("%ld\n", cells[0] / rounds);
	free(points);
}

void faulty(void)
{
	run(count_in_turns, ROUNDS);
}

void healthy(void)
{
	run(count, ROUNDS);
}
