// SPDX-License-Identifier: MIT
// Row i has i pairs: threads that get equal numbers of rows do not get equal work.
#include "fault.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#define ROWS   12000
#define ROUNDS 8

static double *positions(void)
{
	double *x = (double *)malloc(ROWS * sizeof(*x));

	for (int i = 0; x && i < ROWS; i++)
		x[i] = i * 7919 % 10007;
	return x;
}

static long row(const double *x, int i)
{
	long near = 0;

	for (int j = 0; j < i; j++)
		near += 1 / (1 + fabs(x[i] - x[j])) > 0.001;
	return near;
}

static long equal_rows(const double *x)
{
	long all = 0;

#pragma omp parallel for num_threads(2) schedule(static) reduction(+ : all) // fault: CPU-LOOPS
	for (int i = 0; i < ROWS; i++)
		all += row(x, i);
	return all;
}

static long equal_work(const double *x)
{
	long all = 0;

#pragma omp parallel for num_threads(2) schedule(dynamic, 64) reduction(+ : all)
	for (int i = 0; i < ROWS; i++)
		all += row(x, i);
	return all;
}

static void run(long (*sum)(const double *))
{
	double *x = positions();
	long all = 0;

	for (int i = 0; x && i < ROUNDS; i++)
		all += sum(x);
	printf("%ld\n", all);
	free(x);
}

void faulty(void)
{
	run(equal_rows);
}

void healthy(void)
{
	run(equal_work);
}
