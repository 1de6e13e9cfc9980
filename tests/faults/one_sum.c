// SPDX-License-Identifier: MIT
// A sum of numbers, all in one, and in eight at once.
#include "fault.h"

#include <stdio.h>

#define NUMBERS 4096
#define ROUNDS  250000

static float numbers[NUMBERS];

__attribute__((noinline)) static float sum_up(const float *x)
{
	float sum = 0;

	for (int i = 0; i < NUMBERS; i++) // fault: CPU-SUM
		sum += x[i];
	return sum;
}

typedef float eight __attribute__((vector_size(32), aligned(4)));

__attribute__((noinline)) static float sum_eight(const float *x)
{
	eight sums = { 0 };
	float sum = 0;

	for (int i = 0; i < NUMBERS; i += 8)
		sums += *(const eight *)(x + i);
	for (int i = 0; i < 8; i++)
		sum += sums[i];
	return sum;
}

static void run(float (*how)(const float *x))
{
	double sum = 0;

	for (int i = 0; i < NUMBERS; i++)
		numbers[i] = (float)(i % 16);
	for (int round = 0; round < ROUNDS; round++)
		sum += how(numbers);
	printf("%.0f\n", sum);
}

void faulty(void)
{
	run(sum_up);
}

void healthy(void)
{
	run(sum_eight);
}
