// SPDX-License-Identifier: MIT
#include "tracer/agent/trace/trace_slots.h"

#include "tracer/agent/table.h"

#ifdef __x86_64__

#define BLOCK  64    // slots that a thread takes at a time
#define GRAVES 65536 // a power of two

AGENT_TABLE struct call trace_calls[TRACE_SLOTS];

AGENT_TABLE static uint32_t
	graves[GRAVES];   // atomic: slots, by the stack and return address of their calls
static uint32_t given;    // atomic: slots that have been given to threads
static uint32_t returned; // atomic: slots of threads that are gone, linked
static bool buried;       // atomic: there have ever been any
static __thread uint32_t free_slots __attribute__((tls_model("initial-exec"))); // linked

static uint32_t *grave_of(uint64_t stack, uint64_t return_address)
{
	uint64_t hash = (stack ^ return_address << 20) * UINT64_C(0x9e3779b97f4a7c15);

	return &graves[hash >> 48];
}
_Static_assert(GRAVES == 1 << 16, "the hash above");

void trace_slot_bury(uint32_t slot)
{
	struct call *call = &trace_calls[slot];

	call->bound = true;
	__atomic_store_n(&buried, true, __ATOMIC_RELAXED);
	__atomic_store_n(&call->state, CALL_BURIED, __ATOMIC_RELEASE);
	__atomic_store_n(grave_of(call->stack, call->return_address), slot, __ATOMIC_RELEASE);
}

uint32_t trace_slot_dig_up(uint64_t stack, uint64_t return_address)
{
	if (!__atomic_load_n(&buried, __ATOMIC_RELAXED))
		return 0;
	uint32_t *grave = grave_of(stack, return_address);
	uint32_t slot = __atomic_load_n(grave, __ATOMIC_ACQUIRE);

	if (!slot || trace_calls[slot].stack != stack ||
	    trace_calls[slot].return_address != return_address ||
	    !__atomic_compare_exchange_n(grave, &slot, 0, false, __ATOMIC_ACQ_REL,
	                                 __ATOMIC_RELAXED))
		return 0;
	return slot;
}

static void put_free(uint32_t slot)
{
	trace_calls[slot].below = free_slots;
	__atomic_store_n(&trace_calls[slot].state, CALL_FREE, __ATOMIC_RELAXED);
	free_slots = slot;
}

// What is bound waits for its like.
void trace_slot_release(uint32_t slot)
{
	if (trace_calls[slot].bound)
		trace_slot_bury(slot);
	else
		put_free(slot);
}

static void take_block(void)
{
	free_slots = __atomic_exchange_n(&returned, 0, __ATOMIC_ACQUIRE);
	if (free_slots || __atomic_load_n(&given, __ATOMIC_RELAXED) >= TRACE_SLOTS)
		return;
	uint32_t first = __atomic_fetch_add(&given, BLOCK, __ATOMIC_RELAXED);
	// Number 0 is none.
	for (uint32_t i = BLOCK; i > 0; i--)
		if (first + i - 1 && first + i - 1 < TRACE_SLOTS)
			put_free(first + i - 1);
}

uint32_t trace_slot_take(void)
{
	if (!free_slots)
		take_block();
	uint32_t slot = free_slots;
	if (slot)
		free_slots = trace_calls[slot].below;
	return slot;
}

bool trace_slots_are_left(void)
{
	return free_slots != 0;
}

void trace_slots_thread_end(void)
{
	uint32_t last = free_slots;

	if (!last)
		return;
	while (trace_calls[last].below)
		last = trace_calls[last].below;
	uint32_t others = __atomic_load_n(&returned, __ATOMIC_RELAXED);
	do
		trace_calls[last].below = others;
	while (!__atomic_compare_exchange_n(&returned, &others, free_slots, true, __ATOMIC_RELEASE,
	                                    __ATOMIC_RELAXED));
	free_slots = 0;
}

#endif
