/* SPDX-License-Identifier: MIT */
/*
 * How long a busy machine keeps a test's collector from its work: what it cannot have seen then is
 * no fault of its own.
 */
#pragma once

#include "base/clock.h"

#define TURN_NS (5 * NS_PER_MS) /* for looking around, if nobody else wants the CPU */

struct turns {
	uint64_t last_ns;    /* when the last turn ended; 0: none yet */
	uint64_t late_ns;    /* in all */
	uint64_t longest_ns; /* from one turn to the next */
};

/* A turn has ended that was to wait for TIMEOUT_MS at most. */
static inline void turns_count(struct turns *t, int timeout_ms)
{
	uint64_t now = clock_now_ns(), usual = (uint64_t)timeout_ms * NS_PER_MS + TURN_NS;
	uint64_t turn = t->last_ns ? now - t->last_ns : 0;

	t->last_ns = now;
	t->late_ns += turn > usual ? turn - usual : 0;
	t->longest_ns = turn > t->longest_ns ? turn : t->longest_ns;
}
