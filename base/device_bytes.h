/* SPDX-License-Identifier: MIT */
/*
 * What an op has had of the memory of GPUs, all of them together, while it was open.
 */
#pragma once

#include <stdint.h>

/* Self: while no op was open within it. */
struct op_device_bytes {
	uint64_t allocated_bytes, freed_bytes;
	uint64_t self_allocated_bytes, self_freed_bytes;
};
_Static_assert(sizeof(struct op_device_bytes) == 32, "a part of record_op_end, base/record.h");

/* Adds FROM's to TO's. */
static inline void op_device_bytes_add(struct op_device_bytes *to,
                                       const struct op_device_bytes *from)
{
	to->allocated_bytes += from->allocated_bytes;
	to->freed_bytes += from->freed_bytes;
	to->self_allocated_bytes += from->self_allocated_bytes;
	to->self_freed_bytes += from->self_freed_bytes;
}

/* Allocated less freed. */
static inline int64_t op_device_net(const struct op_device_bytes *d)
{
	return (int64_t)(d->allocated_bytes - d->freed_bytes);
}

static inline int64_t op_device_self_net(const struct op_device_bytes *d)
{
	return (int64_t)(d->self_allocated_bytes - d->self_freed_bytes);
}
