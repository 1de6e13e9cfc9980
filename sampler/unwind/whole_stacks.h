/* SPDX-License-Identifier: MIT */
/*
 * Deep stacks of a process that were seen whole, for those that were cut.
 *
 * Where there is little memory for samples, most have a short copy of their stack and few a whole
 * one. What is cut has lost its outer frames, but threads do the same again and again: a stack that
 * was whole and has the same inner frames, of the same sizes, shows who calls them, whichever
 *thread it was of.
 *
 *	cut:    leaf … parse (+0x2b0) ─ walk (+0x510) ─┐ the copy ends here
 *	whole:  leaf … parse (+0x2b0) ─ walk (+0x510) ─ visit ─ … ─ run
 */
#pragma once

#include "sampler/unwind/last_stack.h"

#include <stddef.h>
#include <stdint.h>

#define WHOLE_STACKS 64 /* that are kept, the latest ones */

/* Zeroed when empty. */
struct whole_stacks {
	struct last_stack *stacks;   /* WHOLE_STACKS of them; NULL: there has been none */
	uint32_t next;               /* the place of the next one */
	uint64_t keys[WHOLE_STACKS]; /* of each: the same only of the same ones, as a rule */
};

void whole_stacks_fini(struct whole_stacks *w);

/* As last_stack_keep(), of any thread. One that is there already stays. */
void whole_stacks_keep(struct whole_stacks *w, const struct frame *frames, const uint64_t *sps,
                       size_t count, uint64_t time_ns);

/*
 * The latest one whose frames but for the innermost are the COUNT FRAMES with SPS, and go on: what
 * called them begins at its frame COUNT. NULL if there is none. CALLER_SP: where that begins, as
 * far as it is known; 0: it is not.
 */
const struct last_stack *whole_stacks_find(const struct whole_stacks *w, const struct frame *frames,
                                           const uint64_t *sps, size_t count, uint64_t caller_sp);
