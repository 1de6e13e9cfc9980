/* SPDX-License-Identifier: MIT */
/*
 * The repeating pattern in what a thread did, from looks at it in equal steps of time.
 *
 *	looks   a a a b b b b c c c a a a b b b b b c c c a a a b b b b c c c
 *	cycles  |------ 10 -------|------- 11 --------|------- 10 ----------|
 *
 * A cycle goes from one phase's beginning to its next, where that phase is seen for three looks and
 * more at a time, if four of five cycles have the same phases in the same order, and in a quarter
 * of them and more, or in half of less than 24, one is as long as the next or nearly so; long ones
 * may not hold much of the time, but for the first. That is looked for with all phases, then with
 * those that are seen for less than three looks at a time taken together with what they alternate
 * with. Brief looks elsewhere may be chance: they are tried as if nothing was seen. Of the ways
 * that are about as regular, the one that begins first is taken. Cycles at the start in which a
 * phase is still too brief to be told, or is not there, are left out. Cycles that chance may have
 * made are none: 99 series of looks are drawn in which each phase lasts as long on average, but
 * ends at any look and is followed by any other. If any of them seems to have cycles that are as
 * much alike, in order and length, and half as many, none are found. Whatever does not repeat like
 * that, or repeats faster, has no cycle here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CYCLE_PHASES    32 /* phases are 1 ... CYCLE_PHASES */
#define CYCLE_ELSEWHERE 32 /* the phase of whatever is no other: brief ones may be chance */
#define CYCLE_NOTHING   0  /* a look at which nothing was seen: as the look before it */
#define CYCLE_COUNT_MIN 5  /* cycles that there have to be */
#define CYCLE_LOOKS_MIN                                                                            \
	20 /* fewer have none: the longer half of five cycles lasts six looks each */

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
