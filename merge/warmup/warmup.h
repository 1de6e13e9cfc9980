/* SPDX-License-Identifier: MIT */
/*
 * Whether a series of calls measured its warm-up: the excess of its slow first calls.
 *
 *	    ns
 *	    |█
 *	    |█▆                E: what the first m calls took beyond the steady level S
 *	    |██▃▁▁▂▁▁▁▁▁▂▁ S
 *	    +--------------
 *	     m = 3
 *
 * The steady level is the median of the second half. The slow prefix is warm-up if its excess is a
 * tenth of all time and more, if the calls behind it keep a level (else "no steady state"), and if
 * nothing like it appears again later (garbage collections, epochs, bursts). Where most calls were
 * still slow, the run was too short.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WARMUP_SHARE 0.10 /* of all time, that the excess of a warm-up has to be */

enum warmup_verdict {
	WARMUP_NONE,            /* nothing to say against it */
	WARMUP_INCLUDED,        /* the first calls were warm-up */
	WARMUP_TOO_SHORT,       /* the same, and too few calls came after them */
	WARMUP_NO_STEADY_STATE, /* it was still becoming faster at the end */
	WARMUP_SLOWS_DOWN       /* it became slower all the time */
};

/* Whether it says that the run includes warm-up. */
static inline bool warmup_is_included(enum warmup_verdict verdict)
{
	return verdict == WARMUP_INCLUDED || verdict == WARMUP_TOO_SHORT;
}

struct warmup {
	enum warmup_verdict verdict;
	size_t calls;     /* slow ones at the start; also where that is no warm-up */
	double excess;    /* their time beyond the steady level, of all time: 0 … 1 */
	double ratio;     /* their median, of the steady level; 0 if there are none */
	double steady_ns; /* the steady level; 0 for less than three calls */
};

/*
 * NS: how long each of COUNT calls took, in their order. SIZES: how much each had to do (elements,
 * bytes); NULL if all had the same. Takes O(n log n), for scratch memory 48 bytes a call. False if
 * there is no memory.
 */
bool warmup_judge(struct warmup *warmup, const uint64_t *ns, const uint64_t *sizes, size_t count);

/* "includes-warm-up", "run-too-short", "no-steady-state", "slows-down", "none" */
const char *warmup_verdict_name(enum warmup_verdict verdict);
