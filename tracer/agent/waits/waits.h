/* SPDX-License-Identifier: MIT */
/*
 * What threads wait for, and who holds it or wakes them.
 *
 * A wait is reported when it has ended, in one RECORD_WAIT, if it has lasted. While anybody waits
 *at an address, whoever takes what is there, or wakes those who wait, notes that in the history of
 *that address, as the owner changes within a wait:
 *
 *	waiter  begin ──────────────────────────────── end: reads what has come since its begin
 *	others        A took    A released   B woke
 *	                 └──────────┴───────────┴──► history of the address, the last WAITS_HISTORY;
 *	                                             older ones: for how long who owned it
 *(waits_folded.h)
 *
 * Addresses share histories and counters of who waits by their hash; entries say of which address
 * they are. So nothing is allocated and nothing can be full, and a counter that somebody who was
 * cancelled, or has jumped away, has left behind costs its neighbours a note now and then, no more.
 * A thread takes back at its end what it has left.
 *
 * All may be called in handlers, and in children of fork() and vfork(); errno is kept.
 */
#pragma once

#include "tracer/agent/waits/waits_folded.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WAITS_BITS     10
#define WAITS_PLACES   (1u << WAITS_BITS)
#define WAITS_HISTORY  64u
#define WAITS_WAKERS   16u /* in one record, at most */
#define WAITS_LEAST_NS 5000
#define WAITS_MANY     UINT32_MAX
#define WAITS_MADE     4096u /* addresses whose initialization is remembered, at most */

/* On the way of every lock. */
#define WAITS_FAST __attribute__((always_inline))

struct agent;

/* Four to a cache line: whoever takes any lock looks here. */
struct waits_place {
	uint32_t waiters; /* atomic */
	uint32_t head;    /* atomic: entries that the history has had */
	uint64_t reserved;
};

struct waits_entry {
	uint64_t who; /* atomic: thread, what it did, and a part of the address's hash; 0: none */
	uint64_t time_ns; /* atomic */
};

struct waits_history {
	struct waits_entry released; /* the last time that an owner let go */
	struct waits_entry entries[WAITS_HISTORY];
};

/* In pages of their own, which the kernel wipes in a forked child. */
struct waits {
	uint32_t epoch; /* atomic: tells a child of fork(); 0: nobody has waited in this process */
	struct waits_place places[WAITS_PLACES] __attribute__((aligned(64)));
	struct waits_history histories[WAITS_PLACES];
	struct waits_folded folded[WAITS_FOLDED];
} __attribute__((aligned(4096)));

extern struct waits waits;

/* A mutex that processes share was initialized or waited for, here or in a parent. */
extern bool waits_share;

/* From now on waits of A's process are told. */
void waits_start(struct agent *a);

/* In the forked child. */
void waits_fork(void);

/* The process ends, or the agent is about to be off: says what could not be reported. */
void waits_finish(void);

static inline WAITS_FAST uint64_t waits_hash(const volatile void *address)
{
	return (uint64_t)(uintptr_t)address * UINT64_C(0x9e3779b97f4a7c15);
}

/* How many threads wait at ADDRESS, or at one that shares its counter. */
static inline WAITS_FAST uint32_t waits_waiters(const volatile void *address)
{
	return __atomic_load_n(&waits.places[waits_hash(address) >> (64 - WAITS_BITS)].waiters,
	                       __ATOMIC_RELAXED);
}

static inline WAITS_FAST bool waits_watched(const volatile void *address)
{
	return waits_waiters(address) != 0;
}

/* One wait, on the stack of whoever waits. */
struct wait {
	const void *address;
	const void *caller; /* of HELD_FILE and HELD_CHILD */
	uint64_t begin_ns;
	uint32_t owner;   /* who held it at the begin, 0 if unknown: the caller fills it in */
	uint32_t missing; /* a barrier: how many are still to arrive, WAITS_MANY if unknown:
	                     likewise */
	uint32_t head;
	uint16_t kind; /* enum held_kind */
	uint16_t outer;
};

/* Whether waits are reported at all here. */
bool waits_are_told(void);

/* False: this one is not to be told, and has no end. */
bool waits_begin(struct wait *w, uint16_t kind, const volatile void *address);

/* FLAGS: enum held_flags. TOOK: it is the calling thread's now, and whoever waits next is to know.
 */
void waits_end(struct wait *w, uint16_t flags, bool took);

/* The calling thread has taken what is at ADDRESS, is about to release it, or to wake others. An
 * owner who took it while nobody waited is first heard of when it lets go.
 *
 * SLEEPS: somebody does, and is woken by this release. Who has been woken has no CPU yet: that the
 * owner takes it again meanwhile and lets go again, as often as it likes, changes nothing for it,
 * and is not noted. */
void waits_took(const volatile void *address);
void waits_release(const volatile void *address, bool sleeps);
void waits_wake(const volatile void *address);

/* The calling thread is about to let go of what other processes may wait for. KIND: enum held_kind.
 */
void waits_post(const volatile void *address, uint16_t kind);

/* The calling thread is about to send a signal to process TO, which may wait for it; or as FLAGS
   say, HELD_TO_THREAD to thread TO, HELD_TO_PIDFD to what descriptor TO leads to. */
void waits_signal(uint32_t to, uint16_t flags);

/* The calling thread is about to wait in libc's FUNCTION, which CALLER has called, for a disk
   (HELD_FILE) or a child (HELD_CHILD), and has returned. False: this one is not reported, and has
   no end. */
bool waits_call_begin(struct wait *w, uint16_t kind, const void *function, const void *caller);
void waits_call_end(const struct wait *w);

/* The same as waits_took(), where nobody may be waiting yet. */
void waits_owns(const volatile void *address);

/* Who was the last to say so; 0: nobody that is remembered. */
uint32_t waits_owner(const volatile void *address);

/* What is at ADDRESS is being initialized by the call in front of CALLER. */
void waits_made(const volatile void *address, const void *caller);

/* Of the calling thread, as libc numbers it. */
uint32_t waits_tid(void);
