/* SPDX-License-Identifier: MIT */
/*
 * How far the times of one program are apart from run to run, though nothing was changed.
 *
 * Three sources, whose variances add up:
 *
 *   - samples: they are counted, see merge/diff/visits.h for how surely;
 *   - calls: a sum of N calls of standard deviation s varies by s √N; the standard deviation is
 *     taken from the quartiles, so that one slow call does not spoil it;
 *   - the machine: the same instructions take a little longer or shorter each time. Where runs are
 *     repeated that is measured; of one run on each side it is NOISE_QUIET, and more where others
 *     used the machine meanwhile.
 *
 * For the files of merge/ alone.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct run;
struct totals;

#define NOISE_QUIET 0.008 /* standard deviation of a run that has the machine to itself, of 1 */
#define NOISE_BUSY  0.012 /* what others add to it who keep all CPUs busy */
#define NOISE_WAITED                                                                               \
	0.05             /* and what it adds if the program nearly always waited for a free CPU    \
	                  */
#define NOISE_KERNEL 0.5 /* the same for the kernel, which changes from one thread to the other */
#define NOISE_NS     1e6 /* of any time that was not counted: how exactly runs begin and end */
#define NOISE_WAKE   1e7 /* how late a thread may wake up on a machine that is busy */

/* How much the times of one run vary by the machine alone: standard deviations. */
struct noise_level {
	double own, kernel; /* of CPU time, of 1: of code in user space, and in the kernel */
	double wall;        /* of times by the clock, which hold waits for a free CPU */
	double wake_ns;     /* of each wait */
};

struct noise_level noise_of_run(const struct run *run, const struct totals *totals);

/* The variance of the mean of a side's times. */
struct noise_sample {
	double value;
	double variance; /* of it, as far as one run tells: from samples, calls and the machine */
	double least;    /* the same on a machine that nobody else uses */
};

struct noise_test {
	double change;  /* of the means */
	double error;   /* its standard error */
	double freedom; /* degrees of freedom of that */
	double p;       /* two-sided, of Student's distribution */
};

/*
 * NEXT against BASE; both have one item at least. Of one item each, the variances are believed; of
 * more, how far they are apart is, but no less than what their least tells.
 */
struct noise_test noise_compare(const struct noise_sample *base, size_t base_count,
                                const struct noise_sample *next, size_t next_count);

/*
 * Holm's correction: ADJUSTED[i] is how likely it is that chance makes one of all P as small as
 * P[i]; LEVEL[i] is the level at which P[i] alone has to be judged, so that P[i] < LEVEL[i] if and
 * only if ADJUSTED[i] < ALPHA. -1 if there is no memory.
 */
int noise_holm(const double *p, size_t count, double alpha, double *adjusted, double *level);
