// SPDX-License-Identifier: MIT
// Two functions of BLAS, for a program that only wants to call some.
double cblas_ddot(int n, const double *x, int dx, const double *y, int dy);
double cblas_dasum(int n, const double *x, int dx);

double cblas_ddot(int n, const double *x, int dx, const double *y, int dy)
{
	double sum = 0;

	for (int i = 0; i < n; i++)
		sum += x[(long)i * dx] * y[(long)i * dy];
	return sum;
}

double cblas_dasum(int n, const double *x, int dx)
{
	double sum = 0;

	for (int i = 0; i < n; i++)
		sum += x[(long)i * dx] < 0 ? -x[(long)i * dx] : x[(long)i * dx];
	return sum;
}
