/* SPDX-License-Identifier: MIT */
/*
 * Where a process begins its ops: what the first begin of each call site has
 * taught of all others from there.
 *
 *	owner      ── frame_end
 *	wrapper    ── + skip: the owner's stack pointer   (nvtxRangePush at -O0, a guard class …)
 *	hook       ── STACK of struct record_op_begin
 *
 * Wrappers return before the op goes on, so the address that stays in the stack
 * is the owner's.
 *
 * One thread at a time.
 */
#pragma once

#include "base/stack.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct op_site {
	uint64_t caller;    /* return address of the hook, at run time */
	uint64_t skip;      /* from the hook's stack address to the owner's stack pointer */
	uint64_t frame_end; /* and to the end of the owner's frame; 0: not the same for all */
	struct frame owner; /* the call in the owner; module 0 if it is not the same for all */
};

/* Zeroed when empty. */
struct op_sites {
	struct op_site *sites; /* by caller */
	size_t count, capacity;
};

/* Whether FRAME belongs to a provider's own machinery: code between an op's owner and our hook. */
typedef bool op_is_wrapper(void *context, struct frame frame);

void op_sites_fini(struct op_sites *s);

/* NULL if CALLER's stack has not been seen. */
const struct op_site *op_sites_find(const struct op_sites *s, uint64_t caller);

/*
 * Learns from one stack: FRAMES with SPS, innermost first, the hook's own frame ending at STACK.
 * IS_WRAPPER may be NULL: there are none.
 */
void op_sites_learn(struct op_sites *s, uint64_t caller, uint64_t stack, const struct frame *frames,
                    const uint64_t *sps, size_t count, op_is_wrapper *is_wrapper, void *context);
