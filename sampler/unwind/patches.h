/* SPDX-License-Identifier: MIT */
/*
 * What the agent has changed in a process that --trace looks at, and how its stacks are read as if
 * nothing had been:
 *
 *	interrupted in what a jump has displaced   the function, at the displaced instruction
 *	interrupted in a return slot               the caller, just returned to
 *	a return slot as a return address          the caller that the open op tells; if none does,
 *	                                           the one that the process has there
 *
 * So neither stubs nor slots ever show up in a stack.
 *
 * One thread at a time.
 */
#pragma once

#include "base/record.h"
#include "sampler/event/event.h"
#include "sampler/op/op_stack.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PATCH_SLOT_BYTES 16 /* of tracer/agent/trace/trace_calls.h */

/* One function's code that has been displaced. */
struct patch {
	uint64_t start, function;
	uint32_t size, row_count;
	struct patch_row *rows; /* owned */
};

/* Of a process. Zeroed when empty. */
struct patches {
	struct patch *list; /* by start */
	size_t count, capacity;
	uint64_t slots, slots_size; /* 0: there are none */
};

void patches_fini(struct patches *p);

/* False if there is no memory. */
bool patches_add(struct patches *p, const struct event_patch *event);

/* The child of a fork has what its parent has. False if there is no memory. */
bool patches_copy(struct patches *to, const struct patches *from);

/* One stack's view of them. Zeroed: there are none. */
struct patched {
	const struct patches *patches;
	const struct op_stack *ops; /* the open ops of the stack's thread */
	size_t hint;
};

static inline bool patched_is_slot(const struct patched *p, uint64_t address)
{
	return p->patches && address - p->patches->slots < p->patches->slots_size;
}

/* Moves an interrupted position to where it would be in the program. False if it is there. */
bool patched_move(struct patched *p, uint64_t *pc, uint64_t *sp);

/* Where the call returns to whose frame ends at STACK; 0 if that is not known. */
uint64_t patched_return(struct patched *p, uint64_t stack);
