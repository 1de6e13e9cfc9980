/* SPDX-License-Identifier: MIT */
/*
 * How many floating-point operations an op of PyTorch is for, by its inputs (base/tensors.h).
 *
 * Matrix products, convolutions, sums and products of elements are counted as torch.profiler's
 * with_flops does: 2 for each multiplication and its addition. It counts conv2d alone; here are
 * those of one and three dimensions as well, transposed ones, and the kernels of attention; a
 * complex multiplication is 6, an addition 2. An op that is made of such ops has no count of its
 * own.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* False if OP has no count, or its inputs are not as they should be; *FLOPS stays as it is then. */
bool tensor_flops_of(const char *op, const uint64_t *values, unsigned count, uint64_t *flops);
