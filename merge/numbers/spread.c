// SPDX-License-Identifier: MIT
#include "merge/numbers/spread.h"

#include "base/cleanup.h"
#include "merge/numbers/median.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CONFIDENCE  0.95
#define ERRORS      1.645 // standard errors: 90 % of a normal distribution
#define FIGURES_MAX 4
#define FAR_SHARE   0.01 // of the median: who is that near is no outlier, however steady the rest

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

// How many of SORTED stand below the interval on either side: the most of which a fair coin that
// is thrown COUNT times shows so few heads in 2.5 % of all cases or less.
static size_t outside(size_t count)
{
	double sum = 0;

	for (size_t k = 0; k < count; k++) {
		sum += exp(lgamma((double)count + 1) - lgamma((double)k + 1) -
		           lgamma((double)(count - k) + 1) - (double)count * M_LN2);
		if (sum > (1 - CONFIDENCE) / 2)
			return k;
	}
	return count;
}

static double quantile(const double *sorted, size_t count, double share)
{
	double at = share * (double)(count - 1);
	size_t below = (size_t)at;
	double rest = at - (double)below;

	return rest > 0 ? sorted[below] + rest * (sorted[below + 1] - sorted[below])
	                : sorted[below];
}

// Of the values from FIRST to END: of all of them, not of a sample.
static double deviation(const double *sorted, size_t first, size_t end)
{
	double sum = 0, squares = 0, count = (double)(end - first);

	for (size_t i = first; i < end; i++)
		sum += sorted[i];
	for (size_t i = first; i < end; i++)
		squares += (sorted[i] - sum / count) * (sorted[i] - sum / count);
	return sqrt(squares / count);
}

static int figures_of(const double *sorted, size_t count, double median)
{
	size_t first = count / 4, end = (3 * count + 3) / 4;
	double error = ERRORS * deviation(sorted, first, end) / sqrt((double)(end - first));

	if (median <= 0)
		return 1;
	if (error <= median * pow(10, -FIGURES_MAX))
		return FIGURES_MAX;
	int figures = (int)floor(log10(median / error));
	return figures < 1 ? 1 : figures > FIGURES_MAX ? FIGURES_MAX : figures;
}

bool spread_is_far(const struct spread *s, double value)
{
	double distance = fabs(value - s->median);

	return distance > SPREAD_FAR * s->mad && distance > FAR_SHARE * fabs(s->median);
}

static void fill(struct spread *s, const double *sorted, size_t count)
{
	size_t out = outside(count);

	s->count = count;
	s->min = sorted[0];
	s->max = sorted[count - 1];
	s->median = quantile(sorted, count, 0.5);
	s->q1 = quantile(sorted, count, 0.25);
	s->q3 = quantile(sorted, count, 0.75);
	s->low = out ? sorted[out - 1] : NAN;
	s->high = out ? sorted[count - out] : NAN;
	for (size_t i = 0; i < count; i++)
		s->mean += sorted[i] / (double)count;
	s->figures = figures_of(sorted, count, s->median);
}

bool spread_of(const double *values, size_t count, struct spread *spread)
{
	memset(spread, 0, sizeof(*spread));
	if (!count)
		return true;
	cleanup_free double *sorted = reallocarray(NULL, count, sizeof(*sorted));
	if (!sorted)
		return false;
	memcpy(sorted, values, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), by_value);
	fill(spread, sorted, count);
	for (size_t i = 0; i < count; i++)
		sorted[i] = fabs(values[i] - spread->median);
	spread->mad = median_in_place(sorted, count);
	for (size_t i = 0; i < count; i++)
		spread->outliers += spread_is_far(spread, values[i]);
	return true;
}
