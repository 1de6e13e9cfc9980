/* SPDX-License-Identifier: MIT */
/*
 * The slots that stand in the place of return addresses (trace_calls.h), and what each is of.
 *
 * A thread takes slots in blocks, and keeps those that its calls have given back for the next ones.
 * Slots are numbered; number 0 is none. Nothing is allocated. Not for two hooks of one thread at
 * once.
 */
#pragma once

#include "tracer/agent/trace/trace_calls.h"

struct own; /* a thread's, in trace_calls.c */

enum call_state {
	CALL_FREE,
	CALL_OPEN,
	CALL_BURIED,  /* left, as it seems; see trace_slot_bury() */
	CALL_OURS,    /* not of the program */
	CALL_RETURNED /* in another thread than it began in */
};

/* What a slot stands for. The unwind rule and the slots know the size, and the first field; the
   collector the first two. */
struct call {
	uint64_t return_address;
	uint64_t stack;    /* of its frame: the CFA */
	uint64_t begin_ns; /* of its op; 0: it has none */
	struct own *owner; /* NULL: its thread is gone */
	uint32_t generation;
	uint32_t below; /* the call that was open when it began, or the next one that is free; 0:
	                   none */
	int state;      /* enum call_state; atomic */
	bool bound;     /* for good to this stack and return address */
	uint64_t unused[2];
};
_Static_assert(sizeof(struct call) == 64, "the slots know");

/* [slot] */
extern struct call trace_calls[TRACE_SLOTS] __attribute__((visibility("hidden")));

static inline bool trace_slot_is(uint64_t address)
{
	return address - (uint64_t)trace_slots < (uint64_t)TRACE_SLOTS * TRACE_SLOT_BYTES;
}

static inline uint32_t trace_slot_at(uint64_t address)
{
	return (uint32_t)((address - (uint64_t)trace_slots) / TRACE_SLOT_BYTES);
}

static inline uint64_t trace_slot_address(uint32_t slot)
{
	return (uint64_t)trace_slots + (uint64_t)slot * TRACE_SLOT_BYTES;
}

/* A slot of the calling thread's own. 0: all are in use. */
uint32_t trace_slot_take(void);
bool trace_slots_are_left(void); /* the thread has one at hand */

/* The slot's call is over. */
void trace_slot_release(uint32_t slot);

/*
 * The slot's call was left, as it seems: the next call with the same stack and return address, and
 * none but such, gets it from trace_slot_dig_up(), which gives 0 if there is none. One that finds
 * its place taken is not used again.
 */
void trace_slot_bury(uint32_t slot);
uint32_t trace_slot_dig_up(uint64_t stack, uint64_t return_address);

/* Others get what the calling thread has at hand. */
void trace_slots_thread_end(void);
