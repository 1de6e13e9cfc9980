/* SPDX-License-Identifier: MIT */
/*
 * What a GPU did and who caused it: what the sampler hands on and the profile takes in.
 */
#pragma once

#include "base/record_gpu.h"
#include "base/stack.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * A place in the program from which calls have the GPU do something: one thread, one stack. Told
 * before the first activity of it, while the thread is there.
 */
struct gpu_site_event {
	uint32_t site; /* number, from 1 on */
	uint32_t thread;
	uint64_t time_ns;
	uint32_t flags;             /* enum stack_flags */
	uint32_t count;             /* frames */
	const struct frame *frames; /* innermost first: the op that the call is; borrowed */
};

/* The call that caused an activity. */
struct gpu_call {
	uint32_t site; /* 0: not known; so are the others */
	uint32_t op;   /* base/op.h */
	uint64_t begin_ns;
};

/*
 * RECORD says what; any of base/record_gpu.h. Of kernels, copies, sets and graphs OP stands for it
 * in the call tree: the kernel's name, "copy host to device" …; 0: it is none of these.
 */
struct gpu_event {
	uint32_t process; /* number */
	uint32_t op;
	const struct record *record; /* borrowed, valid during the call */
	struct gpu_call call;
	struct frame code; /* of GPU_MANAGED_HOST_FAULT: the instruction; module 0: not known */
};

/* Where and when RECORD ran; false if it is none that runs: a kernel, copy, set or graph. */
bool gpu_record_work(const struct record *record, struct gpu_place *place, uint64_t *begin_ns,
                     uint64_t *end_ns);

/* Its correlation; 0: it has none. */
uint32_t gpu_record_correlation(const struct record *record);
