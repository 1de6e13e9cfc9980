/* SPDX-License-Identifier: MIT */
/*
 * A lower rate of samples than the source gives.
 *
 * Samples that come too soon after the thread's last one are left out, before they cost the
 * collector anything, and the next one stands for their time as well: as if the period had been
 * longer. The kernel goes on taking them. PERF_EVENT_IOC_PERIOD would reach one event of all that
 * are inherited, and have that one report its old period from then on (Linux 6.18: samples 8 ms
 * apart said 1 ms, and where the kernel is not seen the rest was taken for its time).
 *
 * How long it takes until the next one varies by half of the period either way: a program that
 * repeats itself would else be met at the same place each time, the more so where samples come with
 * the kernel's tick.
 *
 * A thread of which there are enough samples gives way in steps, to THINNING_LEAST_HZ at the end:
 *by then each sample more narrows its intervals by nothing to speak of, and costs as much as the
 *first.
 *
 *	weights   1 ms  1 ms  1 ms  1 ms  1 ms  1 ms       of one thread, at 999 Hz
 *	taken      -     -     3     -     2     -  …      at 333 Hz, in the mean
 */
#pragma once

#include "sampler/event/event.h"

#include <stdbool.h>
#include <stdint.h>

#define THINNING_THREADS  4096  /* a power of two; others that share a place start anew */
#define THINNING_ENOUGH   20000 /* samples of a thread that are taken as they come */
#define THINNING_STEP     10000 /* and of each step from then on */
#define THINNING_LEAST_HZ 199

struct thinned_thread {
	uint32_t tid;
	uint32_t taken;   /* samples */
	uint64_t left_ns; /* of samples that were left out */
	uint64_t due_ns;  /* the next one is taken when so much has come; 0: not yet known */
};

struct thinning {
	uint64_t period_ns; /* 0: all samples are taken */
	bool enough;        /* threads of which there are enough samples give way */
	uint32_t gave_way;  /* such threads */
	uint32_t random;    /* any number at first */
	struct thinned_thread threads[THINNING_THREADS];
};

/*
 * Whether SAMPLE of thread TID is to be taken. Then its weight becomes *WEIGHT_NS.
 */
bool thinning_takes(struct thinning *t, uint32_t tid, const struct event_sample *sample,
                    uint64_t *weight_ns);
