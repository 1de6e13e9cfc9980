/* SPDX-License-Identifier: MIT */
/*
 * The order of what a profile file has of each row of ops, after its eight keys.
 */
#pragma once

#include "merge/op/op_table.h"

#include <stddef.h>

#define FILE_OP_KEYS  8
#define FILE_OP_SUMS  21
#define FILE_OP_TIMES 4

static const size_t file_op_sums[FILE_OP_SUMS] = {
	offsetof(struct op_sums, calls),
	offsetof(struct op_sums, untimed),
	offsetof(struct op_sums, timeless),
	offsetof(struct op_sums, left_open),
	offsetof(struct op_sums, marks),
	offsetof(struct op_sums, total_ns),
	offsetof(struct op_sums, sum_ns),
	offsetof(struct op_sums, self_ns),
	offsetof(struct op_sums, allocated_bytes),
	offsetof(struct op_sums, freed_bytes),
	offsetof(struct op_sums, self_allocated_bytes),
	offsetof(struct op_sums, self_freed_bytes),
	offsetof(struct op_sums, flops),
	offsetof(struct op_sums, devices.allocated_bytes),
	offsetof(struct op_sums, devices.freed_bytes),
	offsetof(struct op_sums, devices.self_allocated_bytes),
	offsetof(struct op_sums, devices.self_freed_bytes),
	offsetof(struct op_sums, message_bytes),
	offsetof(struct op_sums, unseen),
	offsetof(struct op_sums, calls_error),
	offsetof(struct op_sums, total_error_ns),
};

static const size_t file_op_times[FILE_OP_TIMES] = {
	offsetof(struct op_entry, first_begin_ns),
	offsetof(struct op_entry, first_ns),
	offsetof(struct op_entry, min_ns),
	offsetof(struct op_entry, max_ns),
};

static inline uint64_t *file_op_sum(struct op_sums *sums, size_t i)
{
	return (uint64_t *)((char *)sums + file_op_sums[i]);
}

static inline uint64_t *file_op_time(struct op_entry *entry, size_t i)
{
	return (uint64_t *)((char *)entry + file_op_times[i]);
}
