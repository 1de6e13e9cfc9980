// SPDX-License-Identifier: MIT
// The sum of a matrix, down its columns and along its rows.
#include "fault.h"

#include <stdio.h>
#include <stdlib.h>

#define SIZE   1536
#define ROUNDS 40

static int (*matrix)[SIZE];

__attribute__((noinline)) static unsigned column(int j)
{
	unsigned sum = 0;

	for (int i = 0; i < SIZE; i++) // fault: CPU-STRIDE
		sum += (unsigned)matrix[i][j];
	return sum;
}

__attribute__((noinline)) static unsigned row(int i)
{
	unsigned sum = 0;

	for (int j = 0; j < SIZE; j++)
		sum += (unsigned)matrix[i][j];
	return sum;
}

static void fill(void)
{
	matrix = malloc(SIZE * sizeof(*matrix));
	for (int i = 0; matrix && i < SIZE; i++)
		for (int j = 0; j < SIZE; j++)
			matrix[i][j] = i ^ j;
}

void faulty(void)
{
	unsigned sum = 0;

	fill();
	for (int round = 0; matrix && round < ROUNDS; round++)
		for (int j = 0; j < SIZE; j++)
			sum += column(j);
	printf("%u\n", sum);
}

void healthy(void)
{
	unsigned sum = 0;

	fill();
	for (int round = 0; matrix && round < ROUNDS; round++)
		for (int i = 0; i < SIZE; i++)
			sum += row(i);
	printf("%u\n", sum);
}
