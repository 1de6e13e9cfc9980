// A BLAS of one routine.
double cblas_ddot(int n, const double *x, int incx, const double *y, int incy);

double cblas_ddot(int n, const double *x, int incx, const double *y, int incy)
{
	double sum = 0;

	for (int i = 0; i < n; i++)
		sum += x[i * incx] * y[i * incy];
	return sum;
}
