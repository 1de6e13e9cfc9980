/* SPDX-License-Identifier: MIT */
/*
 * How sure a share is that was counted from samples.
 */
#pragma once

#include <stdint.h>

struct margin {
	double low, high; /* the 95 % Wilson interval of the share, within 0 … 1 */
	double half;      /* half its width */
};

/* SHARE (0 … 1) was found among SAMPLES samples; 0 samples tell nothing: 0 … 1. */
struct margin statistics_wilson(double share, uint64_t samples);
