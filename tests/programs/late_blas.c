// A BLAS of one routine, and an FFTW of three.
double cblas_ddot(int n, const double *x, int incx, const double *y, int incy);

double cblas_ddot(int n, const double *x, int incx, const double *y, int incy)
{
	double sum = 0;

	for (int i = 0; i < n; i++)
		sum += x[i * incx] * y[i * incy];
	return sum;
}

static struct plan {
	double *out;
	int n;
} only;

void *fftw_plan_dft_1d(int n, void *in, void *out, int sign, unsigned flags);
void fftw_execute(const struct plan *plan);
void fftw_destroy_plan(struct plan *plan);

void *fftw_plan_dft_1d(int n, void *in, void *out, int sign, unsigned flags)
{
	(void)in, (void)sign, (void)flags;
	only = (struct plan){ out, n };
	return &only;
}

void fftw_execute(const struct plan *plan)
{
	plan->out[0] *= plan->n;
}

void fftw_destroy_plan(struct plan *plan)
{
	plan->n = 0;
}
