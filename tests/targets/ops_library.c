// SPDX-License-Identifier: MIT
#include "tests/targets/ops_library.h"

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

void (*library_begins)(const char *name);
void (*library_ends)(void);

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static __attribute__((noipa)) void work(int ms)
{
	uint64_t end = now() + (uint64_t)ms * 1000000;

	while (now() < end)
		;
}

void dgemm_(const char *ta, const char *tb, const int *m, const int *n, const int *k,
            const double *alpha, const double *a, const int *lda, const double *b, const int *ldb,
            const double *beta, double *c, const int *ldc, size_t ta_length, size_t tb_length)
{
	(void)ta, (void)tb, (void)n, (void)k, (void)alpha, (void)a, (void)lda, (void)b, (void)ldb;
	(void)beta, (void)c, (void)ldc, (void)ta_length, (void)tb_length;
	work(*m);
}

void dgesv_(const int *n, const int *nrhs, double *a, const int *lda, int *pivots, double *b,
            const int *ldb, int *info)
{
	const double one = 1;

	(void)pivots;
	*info = 0;
	work(*n);
	library_begins("dgemm");
	dgemm_("N", "N", n, nrhs, n, &one, a, lda, b, ldb, &one, b, ldb, 1, 1);
	library_ends();
}

void cblas_dgemv(int order, int trans, int m, int n, double alpha, const double *a, int lda,
                 const double *x, int incx, double beta, double *y, int incy)
{
	(void)order, (void)trans, (void)n, (void)alpha, (void)a, (void)lda, (void)x, (void)incx;
	(void)beta, (void)y, (void)incy;
	work(m);
}

void dscal_(const int *n, const double *alpha, double *x, const int *incx)
{
	(void)alpha, (void)x, (void)incx;
	work(*n);
}

fftw_plan fftw_plan_dft_1d(int n, void *in, void *out, int sign, unsigned flags)
{
	int *plan = malloc(sizeof(*plan));

	(void)in, (void)out, (void)sign, (void)flags;
	*plan = n;
	work(n / 4);
	return plan;
}

void fftw_execute(const fftw_plan plan)
{
	work(*(const int *)plan);
}

void fftw_destroy_plan(fftw_plan plan)
{
	free(plan);
}
