/* SPDX-License-Identifier: MIT */
/*
 * A library with the names of BLAS, LAPACK and FFTW, which works by the clock: the first size is
 * how many milliseconds. What it calls by itself it tells.
 */
#pragma once

#include <stddef.h>

typedef void *fftw_plan;

extern void (*library_begins)(const char *name);
extern void (*library_ends)(void);

void dgemm_(const char *ta, const char *tb, const int *m, const int *n, const int *k,
            const double *alpha, const double *a, const int *lda, const double *b, const int *ldb,
            const double *beta, double *c, const int *ldc, size_t ta_length, size_t tb_length);
/* The same, and M more of what goes through no public name. */
void dgesv_(const int *n, const int *nrhs, double *a, const int *lda, int *pivots, double *b,
            const int *ldb, int *info);
void cblas_dgemv(int order, int trans, int m, int n, double alpha, const double *a, int lda,
                 const double *x, int incx, double beta, double *y, int incy);
void dscal_(const int *n, const double *alpha, double *x, const int *incx);
fftw_plan fftw_plan_dft_1d(int n, void *in, void *out, int sign, unsigned flags);
void fftw_execute(const fftw_plan plan);
void fftw_destroy_plan(fftw_plan plan);
