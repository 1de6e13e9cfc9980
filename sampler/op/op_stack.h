/* SPDX-License-Identifier: MIT */
/*
 * The open ops of one thread, and their places in its stack.
 *
 * Which ops are open when a sample is taken is exact: both carry times of one
 * clock. Where each stands is found by address. The function that has begun an
 * op, its owner, is still there while the op is open (or the op stands nowhere):
 * its frame is the one that holds the op's address.
 *
 *	main          [0x9f0, 0xa00)
 *	step          [0x980, 0x9f0)   ◄── op "forward", address 0x988
 *	              ── op "forward" ──
 *	gemm          [0x900, 0x980)
 *
 * Where the owner itself runs, the op stands on top, and its frame once more.
 *
 * From CPython 3.11 on one call of the interpreter runs several functions of Python's, which have
 * one address together: there the callers tell that the op has named when it began.
 */
#pragma once

#include "base/stack.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct codes;

#define OP_STACK_MAX  4096                /* deeper ops are not kept */
#define OP_STACK_SIZE (UINT64_C(8) << 20) /* what is farther apart is on different stacks */

struct open_op {
	uint32_t op;     /* id, see base/op.h */
	uint32_t domain; /* its domain_id */
	bool range;
	bool forwards, python; /* see struct event_op */
	uint32_t within;       /* ops of that kind right within it that have ended */
	struct op_event *twin; /* the only one of them, if it is the same op; owned, NULL: none */
	uint64_t begin_ns;
	uint64_t call_stack; /* of a call: where its frame ends; 0: it does not end with a frame */
	uint64_t call_return;
	bool waits;         /* see struct event_op */
	bool told;          /* the same */
	uint64_t left_ns;   /* when its frame was found to be gone, with no end told; 0: not yet */
	uint64_t below_ns;  /* of the ops right below it that have ended */
	bool below_differs; /* from what their ends have told */
	double weight;      /* as in struct event_op */
	uint32_t window;    /* the same */
	double unseen_ns;   /* of those right below it that were not recorded, by estimate */
	uint64_t address;   /* in the owner's frame, if nothing better is known */
	uint64_t frame_end; /* where the owner's frame ends, if that is known; else 0 */
	struct frame caller;
	uint32_t chain, forward; /* calls of the registry (base/code.h); 0: unknown, or none */
	uint16_t detail, detail_count;
	uint64_t *details; /* owned */
};

#define OP_ENDED 64

struct op_return {
	uint64_t stack, address;
};

struct op_stack {
	struct open_op *ops; /* in the order of their begins */
	size_t count, capacity;
	size_t calls; /* those among them that end with a frame, and are not told */
	size_t told;  /* the same, told */
	/* Of calls that were reported and have ended: whose last instructions may be sampled yet,
	   and whose frames are there while an exception goes on from them. */
	struct op_return ended[OP_ENDED];
	size_t ended_count;
	const struct codes *codes; /* borrowed: what open_op.chain is a number of; NULL: none */
};

void op_stack_fini(struct op_stack *s);

/* OP (whose details are copied) is open, on top of the others. False if there is no room for it. */
bool op_stack_push(struct op_stack *s, const struct open_op *op);

/* OP, any of S, is no longer open: it is freed, and those on top of it move. */
void op_stack_remove(struct op_stack *s, struct open_op *op);

/*
 * Where the call returns to, of those that are told, whose frame ends at STACK; 0 if there is none.
 * One stack's are asked for from the inside out: *HINT, 0 at first, makes that quick.
 */
uint64_t op_stack_return(const struct op_stack *s, uint64_t stack, size_t *hint);

/* Whether the innermost op is one that waits. */
bool op_stack_waits(const struct op_stack *s);

/* The same for stacks in which the same ops are open in the same order; 0: none is. */
uint64_t op_stack_key(const struct op_stack *s);

/* The open ops alone, innermost first, without the code around them. Returns how many, up to MAX.
 */
size_t op_stack_list(const struct op_stack *s, struct frame *frames, size_t max);

/*
 * FRAMES (COUNT of them, innermost first, room for MAX) with SPS, each one's stack pointer, get the
 * open ops between them. FRAMES that are marks have a stack pointer of 0. Returns the new count;
 * what there is no room for is left out from the outermost frame in.
 */
size_t op_stack_place(const struct op_stack *s, struct frame *frames, const uint64_t *sps,
                      size_t count, size_t max);
