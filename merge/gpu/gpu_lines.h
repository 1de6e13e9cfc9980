/* SPDX-License-Identifier: MIT */
/*
 * What is kept of samples of the instructions of GPUs' kernels: by instruction and by what was
 * waited for there, over the whole run.
 *
 * For the files of merge/ alone. One thread at a time.
 */
#pragma once

#include "base/gpu_pc_event.h"
#include "base/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GPU_PCS_MAX    262144u
#define GPU_STALLS_MAX 1048576u

/* Texts are strings; 0 where unknown. */
struct gpu_pc {
	uint64_t cubin_crc, offset;
	uint32_t function; /* the kernel, mangled */
	uint32_t file;     /* of the innermost line */
	uint32_t line;
	uint32_t inlined;   /* the function there, mangled; 0: it is the kernel's own line */
	uint32_t call_file; /* and the kernel's own line that leads there */
	uint32_t call_line;
};

struct gpu_pc_samples {
	uint32_t pc; /* number, from 1 */
	uint32_t reason;
	uint64_t samples;
};

struct gpu_lines {
	struct gpu_pc *pcs; /* [number - 1] */
	uint32_t pc_count;
	size_t pc_capacity;
	struct hash pc_index;
	struct gpu_pc_samples *stalls;
	uint32_t stall_count;
	size_t stall_capacity;
	struct hash stall_index;
	uint64_t samples, dropped, other; /* see struct gpu_pc_sum_event */
	uint64_t lost;                    /* samples that found no memory */
};

void gpu_lines_fini(struct gpu_lines *g);

/* The number of the instruction, added if it is new; 0 if there is no room. */
uint32_t gpu_lines_pc(struct gpu_lines *g, const struct gpu_pc *pc);

/* False if there is no room. */
bool gpu_lines_add(struct gpu_lines *g, const struct gpu_pc_samples *more);
