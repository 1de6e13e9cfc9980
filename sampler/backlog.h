/* SPDX-License-Identifier: MIT */
/*
 * When records that wait in memory for the collector are too many: then the rate falls. What waits
 * is only late; it is lost once the memory is full. Plain data; zeroed is one that has not looked.
 */
#pragma once

#include "base/clock.h"

#include <stdbool.h>
#include <stdint.h>

#define BACKLOG_MUCH 0.25 /* of the memory */

struct backlog {
	uint64_t looked_ns; /* when there was much at the last look */
	double filled;      /* how much of the memory */
};

/*
 * Whether FILLED of the memory at NOW_NS, 0 to 1, is too much: much, and not less than a second
 * before. At most once a second.
 */
static inline bool backlog_grows(struct backlog *b, double filled, uint64_t now_ns)
{
	if (filled < BACKLOG_MUCH || now_ns < b->looked_ns + NS_PER_SEC)
		return false;
	bool falls = now_ns < b->looked_ns + 2 * NS_PER_SEC && filled < b->filled;
	*b = (struct backlog){ now_ns, filled };
	return !falls;
}
