/* SPDX-License-Identifier: MIT */
/*
 * CUPTI's times as CLOCK_MONOTONIC.
 *
 * CUPTI asks us for the time where it can be given a clock, and gives all of its own in
 * that clock. Where it does not, its clock (CLOCK_REALTIME, which may be set) is read together with
 * ours now and then, and times between two readings are put on the line through both:
 *
 *	ours     a ───────────────── b
 *	CUPTI's  a' ──── time ────── b'
 *
 * One thread at a time.
 */
#pragma once

#include "tracer/agent/cupti/cupti_library.h"

#include <stdint.h>

struct cupti_clock_pair {
	uint64_t theirs_ns, ours_ns;
};

struct cupti_fit {
	struct cupti_clock_pair from,
		to; /* equal: one reading so far; zeroed: the clocks are one */
};

/* The clock that CUPTI is to ask. */
uint64_t cupti_clock_now(void);

/* Reads both clocks; the last reading becomes the first if it was a while ago. */
void cupti_fit_read(struct cupti_fit *fit, const struct cupti_functions *f);

void cupti_fit_add(struct cupti_fit *fit, struct cupti_clock_pair now);

/* 0 stays 0: unknown. */
uint64_t cupti_fit_ns(const struct cupti_fit *fit, uint64_t theirs_ns);
