// SPDX-License-Identifier: MIT
// Numbers that are floats go through double and back, for a constant and a function that are
// double.
#include "fault.h"

#include <math.h>
#include <stdio.h>

#define COUNT  4096
#define ROUNDS 20000

static float numbers[COUNT];

static void fill(void)
{
	for (int i = 0; i < COUNT; i++)
		numbers[i] = (float)i / COUNT;
}

static void print(void)
{
	float sum = 0;

	for (int i = 0; i < COUNT; i++)
		sum += numbers[i];
	printf("%.0f\n", (double)sum / 10);
}

void faulty(void)
{
	fill();
	for (int round = 0; round < ROUNDS; round++)
		for (int i = 0; i < COUNT; i++)
			numbers[i] = (float)exp(-numbers[i]); // fault: CPU-DOUBLE
	print();
}

void healthy(void)
{
	fill();
	for (int round = 0; round < ROUNDS; round++)
		for (int i = 0; i < COUNT; i++)
			numbers[i] = expf(-numbers[i]);
	print();
}
