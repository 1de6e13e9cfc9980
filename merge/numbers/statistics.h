/* SPDX-License-Identifier: MIT */
/*
 * How sure a share is that was counted from samples, and how likely a difference is by chance.
 *
 * E. B. Wilson, Probable inference, the law of succession, and statistical inference, JASA 22
 * (1927), 209-212. Student's distribution is I_x(f/2, 1/2) with x = f / (f + t^2), the regularized
 * incomplete beta function (NIST's DLMF, 8.17). No state: any thread.
 */
#pragma once

#include <stdint.h>

struct margin {
	double low, high; /* the 95 % Wilson interval of the share, within 0 … 1 */
	double half;      /* half its width */
};

/* SHARE (0 … 1) was found among SAMPLES samples; 0 samples tell nothing: 0 … 1. */
struct margin statistics_wilson(double share, uint64_t samples);

/* How likely |t| and more is of Student's distribution with FREEDOM > 0 degrees of freedom. */
double statistics_student_p(double t, double freedom);

/* The t of which statistics_student_p() is P: 0 < P <= 1. */
double statistics_student_t(double p, double freedom);
