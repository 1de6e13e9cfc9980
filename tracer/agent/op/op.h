/* SPDX-License-Identifier: MIT */
/*
 * Ops of the calling thread: what every provider's hooks call.
 *
 *	EXPORT int nvtxRangePushA(const char *text)
 *	{
 *		struct op_thread *t = op_enter();
 *		if (t) {
 *			op_begin(t, op_name(t, OP_NVTX, 0, text), OP_HERE(), NULL);
 *			op_leave(t);
 *		}
 *	}
 *
 * op_enter() gives NULL where nothing is to be written: no collector, a hook
 * that a signal handler calls in the middle of another hook of its thread, a
 * thread that is ending. Between enter and leave nothing of the target's may be
 * called. Hooks keep errno. A handler that jumps out of the middle of a hook for good leaves its
 * thread without ops.
 *
 * What is written about an op is all or nothing: a BEGIN is written only where
 * room is left for the ENDs of all that is open. An op without one is counted
 * with its name (names_count()), and its time is reported to the op around it, so
 * that calls, total and self time stay exact.
 *
 *	[ring: … BEGIN a  BEGIN b  END b …  | room owed to END a ]
 */
#pragma once

#include "tracer/agent/op/names.h"
#include "tracer/agent/op/thin.h"
#include "tracer/agent/stopwatch.h"

#include <stdbool.h>
#include <stdint.h>

struct agent;
struct lane;

#define OP_DEPTH_MAX   2048 /* deeper ops are counted only */
#define OP_CACHE_BITS  8
#define OP_CACHE       (1u << OP_CACHE_BITS)
#define OP_DETAILS_MAX 64
#define OP_TWINS       64

/* Where a hook was called from. */
struct op_here {
	uint64_t stack, caller; /* its CFA and its return address */
};

#define OP_HERE()                                                                                  \
	((struct op_here){ (uint64_t)(uintptr_t)__builtin_dwarf_cfa(),                             \
	                   (uint64_t)(uintptr_t)__builtin_return_address(0) })

/* What an op was done on; NULL: nothing. */
struct op_details {
	uint16_t kind; /* enum op_detail */
	uint16_t count;
	const uint64_t *values;
};

/* What a thread has allocated and freed so far. The variances are of what is estimated, as in
   struct record_memory; 0: all is exact. */
struct op_memory {
	uint64_t allocations, frees, allocated_bytes, freed_bytes;
	uint64_t allocations_variance, bytes_variance;
};

/*
 * What the calling thread's tensors have taken and given back, where the PyTorch provider counts:
 * what its ops are charged with, instead of all that was allocated.
 */
struct op_bytes {
	uint64_t allocated, freed;
};
extern __thread struct op_bytes op_tensors __attribute__((tls_model("initial-exec")));

/* The same for memory of GPUs, which ops of all providers are charged with; by op_use_devices()
 * alone.
 */
extern __thread struct op_bytes op_devices __attribute__((tls_model("initial-exec")));

/* The calling thread has been given so many bytes of a GPU, or has given them back. */
void op_use_devices(uint64_t allocated, uint64_t freed);

/* The calling thread's, where the malloc provider counts; NULL: nothing so far. */
extern __thread struct op_memory *op_memory __attribute__((tls_model("initial-exec")));

/* D, of an op that is to begin, stands for WEIGHT calls. VALUES, which D's are, has room for one
   more. */
void op_weigh(struct op_details *d, uint64_t *values, uint32_t weight);

struct op_open {
	uint64_t begin_ns;
	uint64_t from_ns;  /* where the time begins that it takes from the op around it */
	uint64_t below_ns; /* taken by ops right below it */
	uint64_t allocated_bytes, freed_bytes; /* of the thread, at the begin */
	uint64_t below_allocated_bytes, below_freed_bytes;
	struct op_bytes tensors, below_tensors; /* the same */
	uint32_t name;
	uint32_t owner; /* see op_begin_in() */
	uint32_t level; /* how many of the same owner are open below */
	uint32_t calls; /* of one that was not written: how many it stands for */
	bool written;
} __attribute__((aligned(64)));

/* What an op knows of op_devices, where the process uses any. */
struct op_on_devices {
	struct op_bytes begun, below; /* as op_open.tensors and below_tensors */
};

struct op_cached {
	const char *text;
	uint32_t domain, id;
};

struct op_twin {
	uint32_t name, twin; /* see names_twin() */
};

struct op_thread {
	int inside;          /* a hook of this thread is at work */
	uint32_t generation; /* of the process: a fork without handlers shows */
	struct lane *lane;
	uint32_t tid;
	uint32_t depth;
	uint64_t room;          /* bytes of the ring that are free and owed to nobody; at most */
	uint64_t full_until_ns; /* nobody looks for room before */
	struct stopwatch watch;
	uint64_t emptied_ns;            /* when OP_EMPTY was made last */
	struct op_thin thin;            /* of calls that hold no others */
	struct op_twin twins[OP_TWINS]; /* [name % OP_TWINS] */
	struct op_cached cache[OP_CACHE];
	struct op_open open[OP_DEPTH_MAX];
	struct op_on_devices
		devices[OP_DEPTH_MAX]; /* [index of open]; zeros as long as none are used */
};

/* The process has begun, or is a child of fork(): before agent_fork(). */
void op_start(struct agent *a);
void op_fork(struct agent *a);

/*
 * This process has just been forked: puts back all that threads of the parent may have held or left
 * half done, in every part of the agent. FUNCTION does so for what is not linked everywhere.
 */
void op_start_child(struct agent *a);
void op_when_forked(void (*function)(void));

/*
 * The same where the fork came from a handler in the middle of a hook, which the child is going to
 * end: what that writes goes nowhere, and the next hook starts the child.
 */
void op_start_child_later(struct agent *a);

/* No hook gets in any more: the agent is about to be off. */
void op_stop(void);

/*
 * The agent leaves a process that goes on, after op_stop(): takes back the names and what threads
 * have, but for a page of each, at which hooks look that are called nevertheless. False, and then
 * nothing is done, if a thread stays in a hook. Waits for a moment.
 */
bool op_withdraw(struct agent *a);

/* This process has just been forked from one that was joined late: nothing is collected in it. */
void op_stop_child(struct agent *a);

/* The thread whose lane this is ends: what is open is closed (OP_LEFT_OPEN). */
void op_thread_end(struct lane *lane);

/* Whether PROVIDER is wanted, and the agent has somewhere to write. */
bool op_is_on(enum op_provider provider);

/* Millionths of the program's time that recording may take of ops that can be thinned; 0: any. */
uint32_t op_allowed(void);

static inline struct op_thread *op_enter(void);
static inline void op_leave(struct op_thread *t);

/* Whether the calling thread is in a hook: its ring is not to be touched. For tick handlers. */
bool op_is_inside(void);

/*
 * For writers of other records than ops': the calling thread's lane, where no hook and no handler
 * writes until it is given back. NULL as in op_enter().
 */
struct lane *op_take_lane(void);
void op_give_lane(void);

/*
 * The id of a name; 0 if it found no room, which every function here takes for "not written".
 * TEXT's address only speeds things up: another text at the same address is another name.
 */
uint32_t op_name(struct op_thread *t, enum op_provider provider, uint32_t domain, const char *text);
uint32_t op_name_in(struct op_thread *t, const struct name *name);

/* The same for who writes elsewhere than in a thread's lane. */
uint32_t op_name_apart(const struct name *name);

/*
 * A call is over of which no thread can tell: it has no room, or has ended, or is a vfork child, or
 * is interrupted in the middle of a hook. Counted without its time, if that can be.
 */
void op_count_apart(const struct name *name);

/* The same if the thread has asked for the name lately; else 0. */
uint32_t op_name_known(const struct op_thread *t, enum op_provider provider, uint32_t domain,
                       const char *text);

/* The collector gets to see the stack of the op that begins next, though it may know its place. */
void op_show(struct op_thread *t, uint32_t name, struct op_here here);

/*
 * An op of the thread begins, or the innermost one that has begun so ends. An end without a begin
 * is ignored.
 */
void op_begin(struct op_thread *t, uint32_t name, struct op_here here, const struct op_details *d);
void op_end(struct op_thread *t);

/*
 * The same for providers whose domains nest each by itself: they return how many are open in OWNER
 * with the one that has begun, or ended; only 1 of it for owner 0. OWNER is any number of theirs,
 * for which OP_OWNER() makes room beside those of others.
 */
#define OP_OWNER(provider, number) ((uint32_t)(provider) << 24 | ((number)&0xffffff))
uint32_t op_begin_in(struct op_thread *t, uint32_t owner, uint32_t name, struct op_here here,
                     const struct op_details *d);
uint32_t op_end_in(struct op_thread *t, uint32_t owner); /* 0: nothing was open */

/* The same for an owner that has one op only. */
void op_begin_alone(struct op_thread *t, uint32_t owner, uint32_t name, struct op_here here,
                    const struct op_details *d);

/*
 * The same for one whose end is distinguished by what its begin returned: 0 if it was only counted,
 * and has no end. FLAGS: OP_RETURNED, or 0 for one that was found to be over.
 */
uint64_t op_begin_call(struct op_thread *t, uint32_t name, struct op_here here);
void op_end_call(struct op_thread *t, uint64_t begin_ns, uint16_t flags);

/*
 * Whether such a begin from CALLER, or such an end, does
 * nothing but to write its record or to count: of libc nothing is called but clock_gettime() and
 * system calls, so that vector registers beyond 16 bytes are left alone.
 */
bool op_begins_quickly(const struct op_thread *t, uint64_t caller);
bool op_ends_quickly(const struct op_thread *t, uint64_t begin_ns);

/*
 * A range begins, and ends in whatever thread. The returned value (0: not written) is what the end
 * needs; it is unique in the process.
 */
struct op_range {
	uint64_t begin_ns;
	uint32_t tid, name;
};
struct op_range op_range_begin(struct op_thread *t, uint32_t name, struct op_here here,
                               const struct op_details *d);
void op_range_end(struct op_thread *t, struct op_range range);

void op_mark(struct op_thread *t, uint32_t name, struct op_here here, const struct op_details *d);

/* An op is over that took TOTAL_NS, of which nothing else is known. */
void op_count(struct op_thread *t, uint32_t name, uint64_t total_ns);

/* The same for one whose time nobody will know. */
void op_count_timeless(struct op_thread *t, uint32_t name);

/* The program calls thread TID so. */
void op_thread_name(struct op_thread *t, uint32_t tid, const char *name);

/* Something the user should know; from within a hook, and from elsewhere. */
void op_note(struct op_thread *t, const char *text);
void op_say(const char *text);

/* The calling thread's; NULL: it has had no op. */
extern __thread struct op_thread *op_own __attribute__((tls_model("initial-exec")));
extern uint32_t *op_witness; /* the process's generation; 0 in a child that nobody has reported */

struct op_thread *op_enter_slowly(void);

static inline struct op_thread *op_enter(void)
{
	struct op_thread *t = op_own;

	if (__builtin_expect(!t || t->inside, 0))
		return op_enter_slowly();
	t->inside = 1;
	__asm__ volatile("" ::: "memory"); // a handler of this thread sees it from here on
	if (__builtin_expect(t->generation == *op_witness, 1))
		return t;
	t->inside = 0;
	return op_enter_slowly();
}

static inline void op_leave(struct op_thread *t)
{
	__asm__ volatile("" ::: "memory");
	t->inside = 0;
}
