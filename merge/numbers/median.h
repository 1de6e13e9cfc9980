/* SPDX-License-Identifier: MIT */
/*
 * Medians without sorting: C. A. R. Hoare, Algorithm 65: find, CACM 4 (1961), 321-322; O(n) on
 * average. No state: any thread.
 */
#pragma once

#include <stddef.h>

/* The median of COUNT > 0 VALUES, of an even count the mean of the two in the middle. SCRATCH: room
 * for as many, which holds them in another order then. */
double median(const double *values, size_t count, double *scratch);

/* The same, of values that need not keep their order. */
double median_in_place(double *values, size_t count);

/* The value that would stand at INDEX if they were sorted; they lose their order. */
double nth_smallest(double *values, size_t count, size_t index);
