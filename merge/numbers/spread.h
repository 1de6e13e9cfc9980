/* SPDX-License-Identifier: MIT */
/*
 * What repeated measurements of one thing say about it, whatever their distribution.
 *
 * The interval of the median is that of order statistics: the narrowest pair of values, as far from
 * either end, between which the true median lies with 95 % certainty or more; six values are the
 * least that have one. Significant figures are counted as torch.utils.benchmark's Measurement
 * counts them: by 1.645 standard errors of the middle half of the values, at most four.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define SPREAD_UNSTEADY      0.10   /* of the median, between the quartiles: "system fluctuation" */
#define SPREAD_VERY_UNSTEADY 0.25   /* "significant environmental influence" */
#define SPREAD_FAR           14.826 /* medians of absolute deviations: an outlier (hyperfine's) */
#define SPREAD_COUNT_MIN     6      /* values of which the median has an interval */

struct spread {
	size_t count;
	double median, q1, q3, min, max, mean;
	double low, high; /* the 95 % interval of the median; both NaN below SPREAD_COUNT_MIN */
	double mad;       /* median of the absolute deviations from the median */
	int figures;      /* digits of the median that mean something: 1 to 4 */
	size_t outliers;  /* values further than SPREAD_FAR * mad from the median */
};

/* Of COUNT VALUES, 0 or more; all zeros if there are none. False if there is no memory. */
bool spread_of(const double *values, size_t count, struct spread *spread);

/* Whether VALUE lies far from what the others are; never where they are all but equal. */
bool spread_is_far(const struct spread *spread, double value);
