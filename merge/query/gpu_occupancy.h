/* SPDX-License-Identifier: MIT */
/*
 * How many warps of a kernel a multiprocessor can hold, of those that it has room for; and how many
 * of the multiprocessors its blocks keep at work.
 *
 * After the occupancy calculation of the CUDA C++ Programming Guide, with the limits that the
 * device itself tells: blocks, warps, registers (handed out in units of 256 a warp) and shared
 * memory (in units of 128 bytes, with 1 KB a block for the system from compute capability 8.0 on).
 * An estimate: carve-outs, clusters and what really runs at once are not known.
 */
#pragma once

#include "merge/gpu/gpu.h"
#include "merge/query/query_gpu.h"

/* 0 … 1; 0 if it is not known. *LIMIT: what is short. */
double gpu_occupancy(const struct gpu_device *device, const struct gpu_shape *shape,
                     enum gpu_limit *limit);

/*
 * 0 … 1; 0 if it is not known. Blocks are taken to last alike and to be handed out evenly, in waves
 * of as many as there is room for: of the last one some multiprocessors may have none.
 */
double gpu_at_work(const struct gpu_device *device, const struct gpu_shape *shape);
