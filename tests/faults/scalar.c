// SPDX-License-Identifier: MIT
// Arrays that might overlap, so that a compiler takes one element at a time; and ones that do not.
#include "fault.h"

#include <stdio.h>

#define NUMBERS 2048
#define ROUNDS  600000

static float x[NUMBERS], y[NUMBERS], z[NUMBERS];

__attribute__((noinline, optimize("no-tree-vectorize"))) static void
blend(float *out, const float *a, const float *b, float weight)
{
	for (int i = 0; i < NUMBERS; i++) // fault: CPU-SCALAR
		out[i] = a[i] + weight * (b[i] - a[i]);
}

typedef float four __attribute__((vector_size(16), aligned(4)));

__attribute__((noinline)) static void blend_four(float *out, const float *a, const float *b,
                                                 float weight)
{
	for (int i = 0; i < NUMBERS; i += 4) {
		four from = *(const four *)(a + i), to = *(const four *)(b + i);
		*(four *)(out + i) = from + weight * (to - from);
	}
}

static void run(void (*how)(float *out, const float *a, const float *b, float weight))
{
	double sum = 0;

	for (int i = 0; i < NUMBERS; i++) {
		x[i] = (float)i;
		y[i] = (float)(2 * i);
	}
	for (int round = 0; round < ROUNDS; round++) {
		how(z, x, y, 0.5F);
		sum += z[round % NUMBERS];
	}
	printf("%.0f\n", sum);
}

void faulty(void)
{
	run(blend);
}

void healthy(void)
{
	run(blend_four);
}
