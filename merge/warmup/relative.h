/* SPDX-License-Identifier: MIT */
/*
 * Durations of calls that had more or less to do, made comparable.
 *
 * Where a law has to be fitted it is ns = exp(c) * size^k, in logarithms a line through the medians
 * of the smaller and of the larger half of the calls, as J. W. Tukey's resistant line is
 * (Exploratory Data Analysis, 1977), with two groups for his three. No state: any thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum relative {
	RELATIVE_DONE,
	RELATIVE_UNKNOWN, /* sizes hardly repeat, and no law is seen in them */
	RELATIVE_NO_MEMORY
};

/*
 * Divides each of COUNT durations by what is usual for its size, and gives the whole its old level.
 * Usual is the median of the later calls of the same size; where sizes rarely repeat, a power of
 * the size that fits. The durations are changed only if RELATIVE_DONE.
 */
enum relative relative_to_size(double *ns, const uint64_t *sizes, size_t count);
