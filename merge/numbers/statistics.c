// SPDX-License-Identifier: MIT
#include "merge/numbers/statistics.h"

#include <math.h>

struct margin statistics_wilson(double share, uint64_t samples)
{
	const double z = 1.959963984540054; // 97.5 % of the normal distribution
	double n = (double)samples;

	if (samples == 0)
		return (struct margin){ 0, 1, 0.5 };
	double shrink = 1 / (1 + z * z / n);
	double center = (share + z * z / (2 * n)) * shrink;
	double half = z * shrink * sqrt(share * (1 - share) / n + z * z / (4 * n * n));
	return (struct margin){ fmax(0, center - half), fmin(1, center + half), half };
}

#define FRACTION_STEPS 300
#define FRACTION_TINY  1e-300

// The continued fraction of the incomplete beta function by Lentz's method: DLMF 8.17.22.
static double beta_fraction(double a, double b, double x)
{
	double c = 1, d = 1 - (a + b) * x / (a + 1);
	double fraction = d = 1 / (fabs(d) < FRACTION_TINY ? FRACTION_TINY : d);

	for (int m = 1; m <= FRACTION_STEPS; m++) {
		double before = fraction;
		double terms[2] = {
			m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
			-(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
		};
		for (int i = 0; i < 2; i++) {
			d = 1 + terms[i] * d;
			d = 1 / (fabs(d) < FRACTION_TINY ? FRACTION_TINY : d);
			c = 1 + terms[i] / c;
			c = fabs(c) < FRACTION_TINY ? FRACTION_TINY : c;
			fraction *= d * c;
		}
		if (fabs(fraction - before) < 1e-15 * fabs(fraction))
			break;
	}
	return fraction;
}

// I_x(a, b), the regularized incomplete beta function.
static double beta_share(double a, double b, double x)
{
	if (x <= 0 || x >= 1)
		return x <= 0 ? 0 : 1;
	double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double statistics_student_p(double t, double freedom)
{
	return beta_share(freedom / 2, 0.5, freedom / (freedom + t * t));
}

double statistics_student_t(double p, double freedom)
{
	double low = 0, high = 1;

	while (statistics_student_p(high, freedom) > p && high < 1e12)
		high *= 2;
	for (int i = 0; i < 100; i++) {
		double middle = (low + high) / 2;
		if (statistics_student_p(middle, freedom) > p)
			low = middle;
		else
			high = middle;
	}
	return (low + high) / 2;
}
