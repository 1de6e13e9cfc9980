// SPDX-License-Identifier: MIT
// Matrices of 3 x 3 are multiplied by a BLAS, one by one.
#include "fault.h"

#include <cblas.h>
#include <stdio.h>

#define ROUNDS 20000000
#define PLAIN  CblasRowMajor, CblasNoTrans, CblasNoTrans

static float a[9] = { 1, 0, 0, 0, 1, 0, 0, 0, 1 };

static void fill(float *b)
{
	for (int i = 0; i < 9; i++)
		b[i] = (float)i;
}

void faulty(void)
{
	float b[9], c[9];

	fill(b);
	for (int i = 0; i < ROUNDS; i++) {
		cblas_sgemm(PLAIN, 3, 3, 3, 1, a, 3, b, 3, 0, c, 3); // fault: OP-TINY
		b[i % 9] = c[i % 9];
	}
	printf("%g\n", b[8]);
}

void healthy(void)
{
	float b[9], c[9] = { 0 };

	fill(b);
	for (int i = 0; i < ROUNDS; i++) {
		for (int row = 0; row < 3; row++)
			for (int column = 0; column < 3; column++)
				c[3 * row + column] = a[3 * row] * b[column] +
				                      a[3 * row + 1] * b[3 + column] +
				                      a[3 * row + 2] * b[6 + column];
		b[i % 9] = c[i % 9];
	}
	printf("%g\n", b[8]);
}
