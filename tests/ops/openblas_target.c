// SPDX-License-Identifier: MIT
/*
 * Calls whose names, shapes and number are known, on a real library. Prints a
 * hash of all results.
 */
#include <cblas.h>
#include <complex.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

extern void dgesv_(const int *, const int *, double *, const int *, int *, double *, const int *,
                   int *);
extern void dgesdd_(const char *, const int *, const int *, double *, const int *, double *,
                    double *, const int *, double *, const int *, double *, const int *, int *,
                    int *, size_t);

#define SIDE 300

static double a[SIDE * SIDE], b[SIDE * SIDE], c[SIDE * SIDE], d[SIDE * SIDE];
static uint64_t hash = 5381;

static void fill(double *matrix, unsigned seed)
{
	for (int i = 0; i < SIDE * SIDE; i++) {
		seed = seed * 1664525 + 1013904223;
		matrix[i] = (double)(seed >> 8) / (1 << 24) - 0.5;
	}
}

static void add(const void *data, size_t size)
{
	for (size_t i = 0; i < size; i++)
		hash = hash * 33 + ((const unsigned char *)data)[i];
}

static void multiply(void)
{
	for (int i = 0; i < 3; i++) {
		cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 256, 128, 300, 1, a, 300, b,
		            128, 0, c, 128);
		add(c, sizeof(double) * 256 * 128);
	}
	cblas_dsyrk(CblasColMajor, CblasUpper, CblasNoTrans, 256, 300, 1, a, 300, 0, c, 300);
	cblas_dtrsm(CblasColMajor, CblasRight, CblasUpper, CblasNoTrans, CblasUnit, 60, 50, 1, a,
	            300, c, 300);
	add(c, sizeof(c));
}

static void vectors(void)
{
	double dots[2] = { cblas_ddot(300, a, 1, b, 1), cblas_dnrm2(200, a, 2) };
	double complex z;

	cblas_zdotc_sub(100, a, 1, b, 1, &z);
	cblas_daxpy(250, 0.5, a, 1, d, 1);
	cblas_dgemv(CblasColMajor, CblasTrans, 40, 30, 1, a, 40, b, 1, 0, d, 1);
	add(dots, sizeof(dots));
	add(&z, sizeof(z));
	add(d, sizeof(d));
}

static void solve(void)
{
	int n = 100, sides = 3, pivots[100], m = 60, k = 40, work_size = 20000, info;
	static double values[40], u[3600], v[1600], work[20000];
	static int places[320];

	dgesv_(&n, &sides, a, &n, pivots, b, &n, &info);
	add(b, sizeof(double) * 300);
	dgesdd_("A", &m, &k, c, &m, values, u, &m, v, &k, work, &work_size, places, &info, 1);
	add(values, sizeof(values));
	add(u, sizeof(u));
}

int main(void)
{
	fill(a, 1);
	fill(b, 2);
	fill(d, 3);
	multiply();
	vectors();
	solve();
	printf("%llx\n", (unsigned long long)hash);
	return 0;
}
