/* SPDX-License-Identifier: MIT */
/*
 * The last deep stack of a thread that was seen whole.
 *
 * A sample holds so much of the stack; what lies beyond is read from the process a little later,
 * which fails where it has ended, has gone on, or may not be read. Its outer
 * frames were there a moment ago, though, and where the frame that was cut ends at
 * the stack pointer of one of them, they are its callers.
 *
 *	now:    leaf … work ──┐ cut: work's frame ends at 0x7ff0
 *	before: leaf … walk … │ solve (0x7ff0) … main
 *	                      └► leaf … work, solve … main
 */
#pragma once

#include "base/stack.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed when empty. */
struct last_stack {
	struct frame *frames;
	uint64_t *sps; /* of each */
	size_t count;
	size_t frame_capacity, sp_capacity;
	uint64_t time_ns;
};

void last_stack_fini(struct last_stack *l);

/* FRAMES with SPS were whole at TIME_NS. Shallow ones are not worth keeping. */
void last_stack_keep(struct last_stack *l, const struct frame *frames, const uint64_t *sps,
                     size_t count, uint64_t time_ns);

/*
 * Index of the frame whose stack pointer is SP, from the frame FIRST on, in a stack that is not
 * much older than TIME_NS; COUNT if there is none.
 */
size_t last_stack_find(const struct last_stack *l, uint64_t sp, size_t first, uint64_t time_ns);
