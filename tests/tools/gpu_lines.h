/* SPDX-License-Identifier: MIT */
/*
 * What a GPU did, a line for each record, for op_report:
 *
 *	kernel  vecadd  by t1 cudaLaunchKernel  grid 4,1,1 block 256,1,1  device 0 stream 7
 */
#pragma once

#include "base/record_gpu.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct gpu_line {
	const struct record *record;
	const char *name;  /* of a kernel */
	const char *call;  /* that caused it: "t1 cudaLaunchKernel"; NULL: unknown */
	bool golden;       /* no times, no addresses */
	uint64_t begin_ns; /* times are counted from here */
};

/* False, and nothing printed, if RECORD is none of a GPU's. */
bool gpu_line_print(FILE *out, const struct gpu_line *line);

/* What ties RECORD to a call; 0: nothing. */
uint32_t gpu_correlation(const struct record *record);
