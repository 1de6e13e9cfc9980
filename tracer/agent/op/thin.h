/* SPDX-License-Identifier: MIT */
/*
 * Calls that are recorded in part, each by itself, where a thread makes so many that recording all
 * of them would take too much of its time: those that hold no others of their kind, as of BLAS.
 *
 * The first OP_THIN_FIRST of a thread are recorded, and from then on, while they are too many, one
 * in so many at random: the next one is from 1 to twice the mean away, each as likely. So every
 * call has the same chance, and stands for as many as the mean is. Of its own thread alone.
 */
#pragma once

#include <stdint.h>

#define OP_THIN_FIRST 32768
/* What a call costs: tests/bench/ops on a machine with other work. */
#define OP_THIN_NS 150

/* Zeroed at first. */
struct op_thin {
	uint64_t calls;
	uint32_t mean;   /* one call in so many; 0 and 1: all */
	uint32_t left;   /* calls until the next one that is recorded */
	uint32_t weight; /* of that */
	/* At the last judgement: */
	uint64_t judged_calls, judged_ns;
	uint64_t random;
};

/* One more call. ALLOWED: millionths of the thread's time that recording may take; 0: any. How many
   calls it stands for; 0: it is not to be recorded. */
uint32_t op_thin(struct op_thin *h, uint32_t allowed);
