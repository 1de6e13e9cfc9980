// SPDX-License-Identifier: MIT
/* Calls the dscal_ of the library that it is linked to. */
extern void dscal_(int *n, double *alpha, double *x, int *incx);

int plugin_call(void);

int plugin_call(void)
{
	int one = 1;
	double x = 0;

	dscal_(&one, &x, &x, &one);
	return (int)x;
}
