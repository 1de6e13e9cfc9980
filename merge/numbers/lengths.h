/* SPDX-License-Identifier: MIT */
/*
 * Whether what is done over and over takes one of two times, as steps of training do where each
 *tenth is followed by an evaluation: then one median says nothing of either.
 *
 *	durations   ▁▁▁▁▁▁▁▁▁█▁▁▁▁▁▁▁▁▁█▁▁▁▁▁▁▁▁▁█
 *
 * The two are distinguished where the variance between them, of logarithms, is largest (N. Otsu, A
 * threshold selection method from gray-level histograms, 1979). They are two if next to nothing is
 *in between, the middle half of either is close together, and both are seen all over the run: slow
 * first ones are a warm-up, and what gets slower drifts. No state: any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct length {
	size_t count;
	double q1, median, q3;
};

struct two_lengths {
	struct length brief,
		lengthy; /* counts of 0: there is one length, or none can be determined */
	double limit;    /* what takes so long, or longer, is lengthy */
	size_t every;    /* each so-many-th is of the rarer length; 0: no fixed distance */
	size_t rarer;    /* index of the first of these */
};

/* Of COUNT values in the order in which they were. False if there is no memory. */
bool two_lengths_of(const double *values, size_t count, struct two_lengths *out);
