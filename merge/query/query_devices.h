/* SPDX-License-Identifier: MIT */
/*
 * Questions about the memory of GPUs: what PyTorch's allocator has held of each, by process.
 *
 * Exact, of the whole run; a peak of tensors and one of what is reserved need not be at one time.
 * The answer borrows its texts from the profile, which must outlive it.
 */
#pragma once

#include "base/cleanup.h"
#include "merge/profile/profile.h"

#include <stddef.h>
#include <stdint.h>

struct error;
struct query;

struct device_row {
	const char *device;  /* "cuda:0" */
	uint32_t process;    /* slot */
	uint32_t pid;        /* of the first one that is in there */
	const char *command; /* "" if unknown */
	uint64_t peak_bytes; /* most that tensors held at once, as the allocator rounds them */
	uint64_t peak_reserved_bytes; /* and most that it had from the driver for them */
	uint64_t last_bytes;          /* that tensors held when they last changed */
	uint64_t last_ns;
	uint64_t capacity_bytes; /* that the device has; 0: unknown */
};

struct device_rows {
	struct device_row *rows; /* by device and process */
	size_t count;
};

/* Of the threads and processes that QUERY is about. NULL on error. */
struct device_rows *query_devices(const struct profile *p, const struct query *query,
                                  struct error *err);
void device_rows_free(struct device_rows *rows);

CLEANUP(device_rows, struct device_rows *, device_rows_free)
