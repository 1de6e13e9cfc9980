// SPDX-License-Identifier: MIT
/* A routine of BLAS that takes no time of its own, in a library that programs call by their PLT. */

double cblas_dasum(int n, const double *x, int incx);

double cblas_dasum(int n, const double *x, int incx)
{
	return n > 0 ? x[0] * incx : 0;
}
