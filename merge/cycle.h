/* SPDX-License-Identifier: MIT */
/*
 * The repeating pattern in what a thread did, from looks at it in equal steps of time.
 *
 *	looks   a a a b b b b c c c a a a b b b b b c c c a a a b b b b c c c
 *	cycles  |------ 10 -------|------- 11 --------|------- 10 ----------|
 *
 * Phases that are seen for less than three looks at a time are taken together with what they
 * alternate with. A cycle then goes from one phase's beginning to its next, if four of five cycles
 * have the same phases in the same order, and one is as long as the next or nearly so. Those at
 * the start in which a phase is still too brief to be told, or is not there, are left out. Whatever
 * does not repeat like that, or repeats faster, has no cycle here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CYCLE_PHASES    32 /* phases are 1 ... CYCLE_PHASES */
#define CYCLE_NOTHING   0  /* a look at which nothing was seen: as the look before it */
#define CYCLE_COUNT_MIN 5  /* cycles that there have to be */

struct cycle {
	size_t count;     /* of cycles; 0: there are none */
	uint32_t *starts; /* [count + 1]: the look at which each begins, and the last ends */
	uint32_t phases;  /* bit PHASE - 1: it begins or is part of the cycles */
};

/* Of COUNT looks, each a phase or CYCLE_NOTHING. False if there is no memory. */
bool cycle_find(struct cycle *cycle, const uint8_t *looks, size_t count);
void cycle_fini(struct cycle *cycle);

static inline void cycle_at_scope_end(struct cycle *cycle)
{
	cycle_fini(cycle);
}
