/* SPDX-License-Identifier: MIT */
/*
 * Which thread counts in which slot, and what the process makes of them all: its live bytes, and
 * their peak.
 *
 * A thread tells the process of its live bytes when they have changed by a step, so that threads
 * do not wait for each other's cache lines. The peak is exact to within a 512th of it, or to within
 * MEMORY_STEP_BYTES for each thread if that is more. Any thread may call these, also in handlers:
 * nothing waits.
 */
#pragma once

#include "tracer/agent/memory/memory.h"

/* The first look in a process: its peak is at least what its parent had. */
void memory_slots_begin(void);

/* Nothing has been counted, in a process that goes on: nobody counts meanwhile. */
void memory_slots_begin_again(void);

/* A slot for thread TID, which is the caller: new, or of one that is gone. NULL if there is none.
 */
struct memory_thread *memory_slots_claim(uint32_t tid);

/* The caller, who has no slot, has COUNTED this. */
void memory_slots_do_without(const struct op_memory *counted);

/* What threads without a slot, or gone, have counted and not told. It is the caller's to tell now.
 */
struct op_memory memory_slots_take_extra(void);

/* All that is counted anywhere, as one part. The threads that still run lose nothing by it. */
struct op_memory memory_slots_take_rest(void);

/* T's counts are added to the process's; in the second case if that is a step from what it knows.
 */
void memory_slots_publish(struct memory_thread *t);
void memory_slots_publish_if_due(struct memory_thread *t);

/* Bytes by which the live bytes of a thread may change before it tells the process. */
int64_t memory_slots_step(void);

/* Asks all threads, if nobody else does just now; returns the process's live bytes. */
int64_t memory_slots_settle(void);
int64_t memory_slots_peak(void);

/* Adds PART to TO, which others may add to. */
static inline void memory_slots_add(struct op_memory *to, const struct op_memory *part)
{
	__atomic_fetch_add(&to->allocations, part->allocations, __ATOMIC_RELAXED);
	__atomic_fetch_add(&to->frees, part->frees, __ATOMIC_RELAXED);
	__atomic_fetch_add(&to->allocated_bytes, part->allocated_bytes, __ATOMIC_RELAXED);
	__atomic_fetch_add(&to->freed_bytes, part->freed_bytes, __ATOMIC_RELAXED);
	__atomic_fetch_add(&to->allocations_variance, part->allocations_variance, __ATOMIC_RELAXED);
	__atomic_fetch_add(&to->bytes_variance, part->bytes_variance, __ATOMIC_RELAXED);
}

/* What T has counted, and the collector has not been told. */
static inline struct op_memory memory_untold(const struct memory_thread *t)
{
	return (struct op_memory){
		.allocations = t->totals.allocations - t->told.allocations,
		.frees = t->totals.frees - t->told.frees,
		.allocated_bytes = t->totals.allocated_bytes - t->told.allocated_bytes,
		.freed_bytes = t->totals.freed_bytes - t->told.freed_bytes,
		.allocations_variance =
			t->totals.allocations_variance - t->told.allocations_variance,
		.bytes_variance = t->totals.bytes_variance - t->told.bytes_variance,
	};
}

/*
 * Live bytes. Of a thread that goes on meanwhile it may be too little, which its next look puts
 * right, but never too much, which would stay in the peak.
 */
static inline int64_t memory_net(const struct op_memory *m)
{
	uint64_t allocated = __atomic_load_n(&m->allocated_bytes, __ATOMIC_ACQUIRE);

	return (int64_t)(allocated - __atomic_load_n(&m->freed_bytes, __ATOMIC_RELAXED));
}

/* Slots that have ever been used. */
static inline uint32_t memory_slots_count(void)
{
	uint32_t count = __atomic_load_n(&memory.thread_count, __ATOMIC_RELAXED);

	return count < MEMORY_THREADS ? count : MEMORY_THREADS;
}

/*
 * Few threads keep what they have freed to themselves until somebody asks, so that those who
 * allocate and free the same again and again write to no memory that others write to.
 */
static inline bool memory_slots_are_lazy(void)
{
	return memory_slots_count() <= MEMORY_LAZY_THREADS;
}

/* How far T's live bytes are above what is published. */
static inline int64_t memory_lead(const struct memory_thread *t)
{
	return memory_net(&t->totals) - __atomic_load_n(&t->published, __ATOMIC_RELAXED);
}
