/* SPDX-License-Identifier: MIT */
/*
 * How far off sums over calls may be of which only some were recorded.
 *
 * They are recorded in windows of OP_WINDOW_OPS ops in a row, at intervals (OP_DETAIL_WEIGHT,
 * base/record.h). The standard error of an estimated sum comes from how much its part differs from
 * one window to the next (Wolter, Introduction to Variance Estimation, 2nd edition, 8.2: estimator
 * v2 for systematic samples; where each call stands for W, one in W of all windows is there). What
 * lies between two windows is itself counted by sampling, one op in OP_SCOUT_OPS, whose error is
 * added, and that of rounding. One thread at a time.
 */
#pragma once

#include <stdint.h>

/* Of one sum. */
struct op_estimate_part {
	double sum;     /* in the window that is open */
	double last;    /* in the one before, scaled by its weight */
	double steps;   /* squares of what is between one and the next */
	double between; /* variance by what lies between windows */
};

struct op_estimate {
	uint32_t first, last,
		window; /* numbers of windows with calls; last: 0 until one is closed */
	double weight;  /* in the window that is open */
	struct op_estimate_part calls, ns;
};

/* CALLS, which take NS and stand for WEIGHT each, were recorded in WINDOW (OP_WINDOW_OF_ONE: each
   by itself, of which the variance is W (W - 1) x^2). */
void op_estimate_add(struct op_estimate *e, uint32_t window, double weight, double calls,
                     double ns);

/* No more comes. */
void op_estimate_close(struct op_estimate *e);

/* Standard errors of the estimated sums, once it is closed. */
double op_estimate_calls_error(const struct op_estimate *e);
double op_estimate_ns_error(const struct op_estimate *e);
