// SPDX-License-Identifier: MIT
/*
 * blas_target PART: calls a fake library (see blas_fake.c), and says
 * what has come back.
 */
#include <complex.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

extern void dgesvx_(char *, char *, void *, void *, void *, void *, void *, void *, void *, void *,
                    void *, void *, void *, void *, void *, void *, void *, void *, void *, void *,
                    void *, void *, size_t, size_t, size_t);
extern int LAPACKE_dgesvx(int, char, char, int, int, void *, int, void *, int, void *, void *,
                          void *, void *, void *, int, void *, int, void *, void *, void *, void *);
extern void cblas_dgemm(int, int, int, int, int, int, double, void *, int, void *, int, double,
                        void *, int);
extern void cblas_zgemm64_(long, long, long, int64_t, int64_t, int64_t, void *, void *, int64_t,
                           void *, int64_t, void *, void *, int64_t);
extern void dgemm_(char *, char *, int *, int *, int *, double *, void *, int *, void *, int *,
                   double *, void *, int *);
extern void dtrsm_(char *, char *, char *, char *, int *, int *, double *, void *, int *, void *,
                   int *);
extern void cblas_dtrsm(int, int, int, int, int, int, int, double, void *, int, void *, int);
extern float sdot_(int *, float *, int *, float *, int *);
extern double cblas_ddot(int, const double *, int, const double *, int);
extern void cblas_srot(int, float *, int, float *, int, float, float);
extern double dlange_(char *, int *, int *, void *, int *, void *, size_t);
extern double complex zdotc_(int *, void *, int *, void *, int *);
extern float complex cdotu_(int *, void *, int *, void *, int *);
extern void dscal_(int *, double *, double *, int *);
extern void dpotrf_(char *, int *, double *, int *, int *, size_t);

static int two = 2, three = 3, four = 4, five = 5, six = 6, seven = 7, nine = 9, one = 1;
static double half = 0.5, quarter = 0.25;

static void arguments(void)
{
	static int64_t cells[32] = { 'N', 'T', 7, 2 };
	char *p = (char *)cells;
	float floats[4];

	errno = 0;
	dgesvx_(p, p + 8, p + 16, p + 24, p + 32, p + 40, p + 48, p + 56, p + 64, p + 72, p + 80,
	        p + 88, p + 96, p + 104, p + 112, p + 120, p + 128, p + 136, p + 144, p + 152,
	        p + 160, p + 168, 101, 102, 103);
	printf("errno %d\n", errno);
	printf("%d\n", LAPACKE_dgesvx(102, 'N', 'T', 7, 2, p + 40, 8, p + 56, 9, p + 72, p + 80,
	                              p + 88, p + 96, p + 104, 10, p + 120, 11, p + 136, p + 144,
	                              p + 152, p + 160));
	cblas_dgemm(101, 111, 112, 2, 3, 4, 0.5, p, 5, p, 6, 0.25, p, 7);
	cblas_zgemm64_(101, 111, 112, INT64_C(1) << 33, 3, 4, p, p, 5, p, 6, p, p, 7);
	dgemm_("n", "t", &two, &three, &four, &half, p, &five, p, &six, &quarter, p, &seven);
	dtrsm_("R", "u", "n", "n", &three, &five, &half, p, &five, p, &six);
	cblas_srot(6, floats, 2, floats + 1, 3, 0.75F, 0.5F);
}

static void results(void)
{
	float x = 2, y = 3;
	double u = 2, v = 3;

	printf("%g %g %g\n", (double)sdot_(&five, &x, &two, &y, &three),
	       cblas_ddot(5, &u, 2, &v, 3), dlange_("F", &three, &four, &u, &three, &u, 1));
	double complex z = zdotc_(&three, &u, &five, &u, &one);
	float complex c = cdotu_(&four, &u, &six, &u, &one);
	printf("%g %g, %g %g\n", creal(z), cimag(z), (double)crealf(c), (double)cimagf(c));
}

static void hidden_results(void)
{
	void (*zdotc)(double complex *, int *, void *, int *, void *, int *) = (void *)zdotc_;
	void (*cdotu)(float complex *, int *, void *, int *, void *, int *) = (void *)cdotu_;
	double complex z = 0;
	float complex c = 0;
	double u;

	zdotc(&z, &three, &u, &five, &u, &one);
	cdotu(&c, &four, &u, &six, &u, &one);
	printf("%g %g, %g %g\n", creal(z), cimag(z), (double)crealf(c), (double)cimagf(c));
}

static void nesting(void)
{
	double a[2];
	int info = 0;

	cblas_dtrsm(102, 142, 121, 111, 131, 3, 5, 0.5, a, 5, a, 6);
	dpotrf_("L", &nine, a, &nine, &info, 1);
}

static jmp_buf back;

__attribute__((visibility("default"))) void xerbla_(const char *routine, const int *info,
                                                    size_t length)
{
	printf("%.*s: %d\n", (int)length, routine, *info);
	longjmp(back, 1);
}

static void jumps(void)
{
	double a[2];

	for (volatile int i = 0; i < 3; i++) {
		int info = 1;
		if (setjmp(back) == 0)
			dpotrf_("L", &nine, a, &nine, &info, 1);
	}
	dscal_(&two, &half, a, &one);
}

static void *count(void *unused)
{
	double x = 1, sum = 0;

	for (int i = 0; i < 50000; i++)
		sum += cblas_ddot(2, &x, 1, &x, 1);
	printf("%g\n", sum);
	return unused;
}

static void threads(void)
{
	pthread_t all[8];

	for (int i = 0; i < 8; i++)
		pthread_create(&all[i], NULL, count, NULL);
	for (int i = 0; i < 8; i++)
		pthread_join(all[i], NULL);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} parts[] = {
		{ "arguments", arguments }, { "results", results }, { "hidden", hidden_results },
		{ "nesting", nesting },     { "jumps", jumps },     { "threads", threads },
	};

	for (size_t i = 0; argc > 1 && i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strcmp(argv[1], parts[i].name) == 0)
			parts[i].run();
	return 0;
}
