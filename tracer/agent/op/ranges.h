/* SPDX-License-Identifier: MIT */
/*
 * Ranges that are open, by the ids under which they will be ended.
 *
 * Any thread puts, any thread takes; nothing is waited for. What is never
 * ended is forgotten when its place is needed.
 */
#pragma once

#include "tracer/agent/op/op.h"

#include <stdbool.h>
#include <stdint.h>

#define RANGES_SLOTS 32768 /* a power of two */

struct ranges {
	struct ranges_slot {
		uint64_t key;        /* atomic; 0: free */
		uint32_t generation; /* of the process: a parent's ranges are not its child's */
		struct op_range range;
	} slots[RANGES_SLOTS];
};

/* KEY: any number but 0 and UINT64_MAX. The same key may be put more than once. */
void ranges_put(struct ranges *r, uint64_t key, const struct op_thread *t, struct op_range range);

/* False if none is open under KEY in this process. */
bool ranges_take(struct ranges *r, uint64_t key, const struct op_thread *t, struct op_range *range);
