/* SPDX-License-Identifier: MIT */
/*
 * What op.c and op_thread.c share: of the process, and between them alone.
 */
#pragma once

#include "tracer/agent/op/names.h"

#include <stdbool.h>
#include <stdint.h>

struct agent;
struct op_thread;

extern struct agent *op_agent; /* NULL: nothing is collected */
extern struct names op_names;
extern bool op_wants_empties; /* OP_EMPTY_ENV */

/* A number below 2^BITS for an address: in a hot path one multiplication has to do. */
static inline uint32_t op_spread(uint64_t address, int bits)
{
	return (uint32_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> (64 - bits));
}

/* What is open in T is closed: OP_LEFT_OPEN. */
void op_close_all(struct op_thread *t);

/* A forked child has reported no stack yet. */
void op_forget_sites(void);
