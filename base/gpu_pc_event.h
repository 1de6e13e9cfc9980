/* SPDX-License-Identifier: MIT */
/*
 * Samples of the instructions of a GPU's kernels: what the sampler hands on and the profile takes
 * in. See base/record_gpu.h.
 */
#pragma once

#include <stdint.h>

struct gpu_pc_stall {
	const char *reason; /* CUPTI's word; never NULL */
	uint32_t samples;
};

/* What has come since the last event of this instruction. Texts are borrowed. */
struct gpu_pc_event {
	uint64_t cubin_crc, offset;
	const char *function; /* mangled; "" if unknown */
	uint32_t stall_count;
	const struct gpu_pc_stall *stalls;
};

/* The same of all instructions together. */
struct gpu_pc_sum_event {
	uint64_t samples; /* with the others */
	uint64_t dropped; /* the GPU could not keep up */
	uint64_t other;   /* of kernels without samples of instructions */
};
