// SPDX-License-Identifier: MIT
#include "merge/statistics.h"

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
