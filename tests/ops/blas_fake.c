// SPDX-License-Identifier: MIT
/*
 * A library of linear algebra that computes nothing: it says whether each
 * argument has come through. Built twice, as A and B, which differ in their
 * results and in how they give back complex numbers.
 */
#include <complex.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#define NUMBERS 64

extern void xerbla_(const char *routine, const int *info, size_t length) __attribute__((weak));

static void say(const char *routine, int wrong)
{
	if (wrong)
		printf("%s: %d arguments are wrong\n", routine, wrong);
	else
		printf("%s: all as it should be\n", routine);
}

// Arguments are addresses in an array, one after the other from START.
static int compare(const char *start, const void *const *arguments, int count)
{
	int wrong = 0;

	for (int i = 0; i < count; i++)
		wrong += arguments[i] != start + 8 * i;
	return wrong;
}

void dgesvx_(char *a1, char *a2, void *a3, void *a4, void *a5, void *a6, void *a7, void *a8,
             void *a9, void *a10, void *a11, void *a12, void *a13, void *a14, void *a15, void *a16,
             void *a17, void *a18, void *a19, void *a20, void *a21, void *a22, size_t l1, size_t l2,
             size_t l3)
{
	const void *all[] = { a1,  a2,  a3,  a4,  a5,  a6,  a7,  a8,  a9,  a10, a11,
		              a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, a22 };

	say("dgesvx_", compare(a1, all, 22) + (l1 != 101) + (l2 != 102) + (l3 != 103));
	errno = 42;
}

int LAPACKE_dgesvx(int layout, char fact, char trans, int n, int nrhs, void *a6, int lda, void *a8,
                   int ldaf, void *a10, void *a11, void *a12, void *a13, void *a14, int ldb,
                   void *a16, int ldx, void *a18, void *a19, void *a20, void *a21)
{
	const char *start = (char *)a21 - 8 * 20;
	int wrong = (layout != 102) + (fact != 'N') + (trans != 'T') + (n != 7) + (nrhs != 2) +
	            (lda != 8) + (ldaf != 9) + (ldb != 10) + (ldx != 11);

	wrong += (a6 != start + 8 * 5) + (a8 != start + 8 * 7) + (a10 != start + 8 * 9) +
	         (a11 != start + 8 * 10) + (a12 != start + 8 * 11) + (a13 != start + 8 * 12) +
	         (a14 != start + 8 * 13) + (a16 != start + 8 * 15) + (a18 != start + 8 * 17) +
	         (a19 != start + 8 * 18) + (a20 != start + 8 * 19);
	say("LAPACKE_dgesvx", wrong);
	return -17;
}

void cblas_dgemm(int order, int ta, int tb, int m, int n, int k, double alpha, void *a, int lda,
                 void *b, int ldb, double beta, void *c, int ldc)
{
	say("cblas_dgemm", (order != 101) + (ta != 111) + (tb != 112) + (m != 2) + (n != 3) +
	                           (k != 4) + (alpha != 0.5) + (lda != 5) + (ldb != 6) +
	                           (beta != 0.25) + (ldc != 7) + (a != c) + (b != c));
}

void cblas_zgemm64_(long order, long ta, long tb, int64_t m, int64_t n, int64_t k, void *alpha,
                    void *a, int64_t lda, void *b, int64_t ldb, void *beta, void *c, int64_t ldc)
{
	say("cblas_zgemm64_", (order != 101) + (ta != 111) + (tb != 112) + (m != INT64_C(1) << 33) +
	                              (n != 3) + (k != 4) + (lda != 5) + (ldb != 6) + (ldc != 7) +
	                              (alpha != c) + (a != c) + (b != c) + (beta != c));
}

// As called from C: without the lengths of the characters.
void dgemm_(char *ta, char *tb, int *m, int *n, int *k, double *alpha, void *a, int *lda, void *b,
            int *ldb, double *beta, void *c, int *ldc)
{
	say("dgemm_", (*ta != 'n') + (*tb != 't') + (*m != 2) + (*n != 3) + (*k != 4) +
	                      (*alpha != 0.5) + (a != c) + (*lda != 5) + (b != c) + (*ldb != 6) +
	                      (*beta != 0.25) + (*ldc != 7));
}

void dtrsm_(char *side, char *uplo, char *ta, char *diag, int *m, int *n, double *alpha, void *a,
            int *lda, void *b, int *ldb)
{
	say("dtrsm_", (*uplo != 'u') + (*ta != 'n') + (*diag != 'n') + (*m != 3) + (*n != 5) +
	                      (*alpha != 0.5) + (a != b) + (*lda != 5) + (*ldb != 6) +
	                      (*side != 'l' && *side != 'R'));
}

// Calls its like by the public name, as many libraries do.
void cblas_dtrsm(int order, int side, int uplo, int ta, int diag, int m, int n, double alpha,
                 void *a, int lda, void *b, int ldb)
{
	dtrsm_(side == 141 ? "l" : "R", "u", "n", "n", &m, &n, &alpha, a, &lda, b, &ldb);
	say("cblas_dtrsm", (order != 102) + (uplo != 121) + (ta != 111) + (diag != 131));
}

float sdot_(int *n, float *x, int *incx, float *y, int *incy)
{
	return (float)*n + x[0] * (float)*incx + y[0] * (float)*incy;
}

double cblas_ddot(int n, const double *x, int incx, const double *y, int incy)
{
	return (double)n * x[0] * incx + y[0] * incy;
}

void cblas_srot(int n, float *x, int incx, float *y, int incy, float c, float s)
{
	say("cblas_srot",
	    (n != 6) + (x + 1 != y) + (incx != 2) + (incy != 3) + (c != 0.75F) + (s != 0.5F));
}

double dlange_(char *norm, int *m, int *n, void *a, int *lda, void *work, size_t length)
{
	return *norm == 'F' && *m == 3 && *n == 4 && *lda == 3 && a == work && length == 1 ? 0.125
	                                                                                   : 0;
}

#ifdef FAKE_A
double complex zdotc_(int *n, void *x, int *incx, void *y, int *incy)
{
	return *n + *incx * I + (x == y && *incy == 1 ? 0 : 100);
}
float complex cdotu_(int *n, void *x, int *incx, void *y, int *incy)
{
	return (float)*n + (float)*incx * I + (x == y && *incy == 1 ? 0 : 100);
}
int which_(void)
{
	return 'a';
}
#else
void zdotc_(double complex *result, int *n, void *x, int *incx, void *y, int *incy)
{
	*result = *n + *incx * I + (x == y && *incy == 1 ? 0 : 100);
}
void cdotu_(float complex *result, int *n, void *x, int *incx, void *y, int *incy)
{
	*result = (float)*n + (float)*incx * I + (x == y && *incy == 1 ? 0 : 100);
}
int which_(void)
{
	return 'b';
}
#endif

// What it scales by tells whose it is.
void dscal_(int *n, double *alpha, double *x, int *incx)
{
	(void)alpha;
	x[0] = *n + *incx + which_();
}

// LAPACK: three calls of BLAS 1 and one of BLAS 3.
void dpotrf_(char *uplo, int *n, double *a, int *lda, int *info, size_t length)
{
	double one = 1;
	int step = 1;

	for (int i = 0; i < 3; i++)
		dscal_(n, &one, a, &step);
	cblas_dtrsm(102, 141, 121, 111, 131, 3, 5, 0.5, a, 5, a, 6);
	say("dpotrf_", (*uplo != 'L') + (*n != 9) + (*lda != 9) + (length != 1));
	if (*info == 1 && xerbla_)
		xerbla_("DPOTRF", info, 6);
	*info = 0;
}

int openblas_get_num_threads(void)
{
	return 3;
}
