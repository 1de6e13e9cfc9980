/* SPDX-License-Identifier: MIT */
/*
 * What the process allocates: totals, exact for as long as that is cheap, and samples of where.
 *
 * Bytes are what the allocator makes of a request, malloc_usable_size(), on
 * allocation and on free alike, so that live = allocated - freed. Each thread
 * counts in a slot of its own, without atomics:
 *
 *	allocate: count, and past a mark:  look ─┬─ tell the process what is live, note its peak
 *	free:     count, and past a mark:  look ─┤
 *	                                         ├─ RECORD_MEMORY, every so many bytes
 *	                                         └─ RECORD_ALLOC, if this one is hit
 *
 * Where counting each call takes more of the CPU time than it may, the allocator's calls are
 *counted in part from then on (MEMORY_IN_PART). Of each byte that is asked for the chance to be hit
 *is the same; an allocation one of whose bytes is hit is counted for as many as it stands for (see
 * memory_poisson.h), and so is its free, as its address is in the table. All others pass:
 *
 *	allocate: take the bytes from what is left until the next hit
 *	free:     look whether a sampled block lies in the page
 *
 * So the sums are without bias, and live bytes change by what is hit alone, as little as it does.
 *
 * Slots are kept in pages that the kernel wipes in a forked child: its first
 * call finds all marks at 0, and begins anew. The slot of a thread that is gone
 * goes to another; what was counted there and not reported, any thread reports.
 */
#pragma once

#include "tracer/agent/memory/memory_poisson.h"
#include "tracer/agent/memory/memory_table.h"
#include "tracer/agent/op/op.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MEMORY_THREADS      4096
#define MEMORY_LAZY_THREADS 32    /* so many tell the process what they free only if asked */
#define MEMORY_STEP_BYTES   65536 /* of change, at least, before a thread tells the process */
#define MEMORY_STACK        16384 /* bytes of stack that a sample holds at most */
#define MEMORY_BLOCK_BYTES  16    /* added to what is asked for: or the empty would never be hit */
/*
 * What counting a call takes more than letting it pass (tests/bench/ops), and the calls of a thread
 * that are counted whatever they take.
 */
#define MEMORY_CALL_NS     1.5
#define MEMORY_CALLS_FIRST 4000000

struct agent;

struct memory_thread {
	struct op_memory totals;
	uint64_t look_at, free_look_at; /* totals of bytes at which there is something to do */
	uint64_t sample_at;             /* total of allocated bytes */
	uint64_t tell_at;               /* of allocated and freed bytes together */
	uint64_t told_ns;
	int64_t step;          /* of live bytes, that the process is not told */
	int64_t published;     /* atomic: of totals, what the process takes for live */
	struct op_memory told; /* of totals: what was reported to the collector */
	struct poisson poisson;
	struct poisson part;                 /* of what is counted in part */
	double rest_allocations, rest_frees; /* of what was hit: less than one */
	uint64_t judged_calls;
	uint64_t begun_cpu_ns; /* of its thread, where the agent came later than that; 0: unknown */
	uint32_t shift;        /* of the budget, when the next sample was drawn */
	uint32_t tid;          /* atomic; 0: wiped, or free */
	uint16_t looks;        /* since the budget was asked */
	bool late;             /* the agent has come later than its thread, or again */
	bool looking;
} __attribute__((aligned(128)));

/* Pages of their own. */
struct memory {
	bool begun;    /* atomic */
	bool settling; /* atomic: somebody asks all threads, or takes a slot over */
	struct poisson_budget budget;
	uint32_t thread_count;  /* atomic: slots that have ever been used */
	uint32_t next;          /* atomic: where the next look for a thread that is gone begins */
	uint64_t full_until_ns; /* atomic: not before */
	struct op_memory extra; /* atomic: by threads without a slot, or gone; not told yet */
	struct memory_table sampled;
	struct memory_thread threads[MEMORY_THREADS];
} __attribute__((aligned(4096)));

extern struct memory memory;

/* How malloc() and free() go. Atomic. */
enum memory_way {
	MEMORY_BY_TABLE, /* of functions; those count exactly, or not at all */
	MEMORY_DIRECTLY, /* counted exactly, on the short way for glibc's allocator */
	MEMORY_IN_PART   /* for good */
};
extern uint8_t memory_way __attribute__((visibility("hidden")));

/* MEMORY_IN_PART: bytes until the calling thread's next hit; else 0. */
extern __thread uint64_t memory_left
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* From now on A's process is looked at. */
void memory_start(struct agent *a);

/* Before that, where the agent has joined a process, if not for the first time: nothing has been
   counted. Nobody counts meanwhile. */
void memory_begin_again(void);

/* Before a fork, and in the forked child. */
void memory_prepare_fork(void);
void memory_fork(void);

/* The process ends: tells all that has not been told. */
void memory_finish(void);

/* The parts that are not for each call. */
void memory_look(const void *p, size_t bytes);
void memory_look_free(size_t bytes);
void memory_free_sampled(const void *p);

/* In part: P, of BYTES, that was asked for with ASKED and has not passed, has been allocated; P, of
   BYTES, is about to be freed. */
void memory_allocated_in_part(const void *p, size_t asked, size_t bytes);
void memory_freed_in_part(const void *p, size_t bytes);

static inline uint8_t memory_get_way(void)
{
	return __atomic_load_n(&memory_way, __ATOMIC_RELAXED);
}

static inline bool memory_is_in_part(void)
{
	return memory_get_way() == MEMORY_IN_PART;
}

/* Whether allocations are counted in part, and one that is asked for with ASKED is none of those
   that are hit. */
static inline bool memory_passes(size_t asked)
{
	uint64_t bytes = asked + MEMORY_BLOCK_BYTES;

	if (__builtin_expect(memory_left <= bytes, 0))
		return false;
	memory_left -= bytes;
	return true;
}

/*
 * The same as memory_allocated() and memory_freed() below where there is nothing to do but to
 * count; else false, and nothing has been done.
 */
static inline bool memory_allocated_quickly(size_t bytes)
{
	struct memory_thread *t = (struct memory_thread *)op_memory;

	if (__builtin_expect(!t, 0))
		return false;
	uint64_t allocated = t->totals.allocated_bytes + bytes;
	if (__builtin_expect(allocated >= t->look_at, 0))
		return false;
	t->totals.allocated_bytes = allocated;
	t->totals.allocations++;
	return true;
}

static inline bool memory_freed_quickly(const void *p, size_t bytes)
{
	struct memory_thread *t = (struct memory_thread *)op_memory;

	if (__builtin_expect(!t || memory_table_may_hold(&memory.sampled, (uint64_t)(uintptr_t)p),
	                     0))
		return false;
	uint64_t freed = t->totals.freed_bytes + bytes;
	if (__builtin_expect(freed > t->free_look_at, 0))
		return false;
	t->totals.freed_bytes = freed;
	t->totals.frees++;
	return true;
}

/* P, of BYTES, has been allocated: not NULL. */
static inline void memory_allocated(const void *p, size_t bytes)
{
	struct op_memory *totals = op_memory;

	if (__builtin_expect(totals != NULL, 1)) {
		totals->allocations++;
		totals->allocated_bytes += bytes;
		if (__builtin_expect(
			    totals->allocated_bytes < ((struct memory_thread *)totals)->look_at, 1))
			return;
	}
	memory_look(p, bytes);
}

/* P, of BYTES, is about to be freed. */
static inline void memory_freed(const void *p, size_t bytes)
{
	struct op_memory *totals = op_memory;

	if (__builtin_expect(memory_table_may_hold(&memory.sampled, (uint64_t)(uintptr_t)p), 0))
		memory_free_sampled(p);
	if (__builtin_expect(totals != NULL, 1)) {
		totals->frees++;
		totals->freed_bytes += bytes;
		if (__builtin_expect(totals->freed_bytes <
		                             ((struct memory_thread *)totals)->free_look_at,
		                     1))
			return;
	}
	memory_look_free(bytes);
}

/* BYTES of an allocation are given back; the rest stays. */
static inline void memory_shrunk(size_t bytes)
{
	struct op_memory *totals = op_memory;

	memory_freed(NULL, bytes);
	if (totals)
		totals->frees--;
}

/* It has not been freed after all, as its realloc() failed. */
void memory_kept(size_t bytes);
