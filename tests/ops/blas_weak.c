// SPDX-License-Identifier: MIT
/* blas_weak: uses a library if it is there. As a plugin, when blas_late asks it to. */
#include <stdio.h>

extern void dscal_(const int *n, const double *alpha, double *x, const int *incx)
	__attribute__((weak));

// In data, with the address of what is referred to in it.
static void (*const volatile kept)(const int *, const double *, double *, const int *) = dscal_;

#ifdef PLUGIN
int look(void)
#else
int main(void)
#endif
{
	const int n = 2, step = 1;
	const double two = 2;
	double x[2] = { 1, 2 };

	printf("%s, %s\n", dscal_ ? "there" : "not there", kept ? "there" : "not there");
	if (dscal_) {
		dscal_(&n, &two, x, &step);
		printf("dscal %d\n", n);
	}
	return 0;
}
