/* SPDX-License-Identifier: MIT */
/*
 * Wall time by owner: what the end of the run waited for.
 *
 * At each instant a thread runs, wants a CPU, or is blocked; if it is known which other thread it
 * is blocked on, then what that one does in the meantime is what it waits for, recursively. The
 * wall share of a call path is how long the first thread of the run, seen so, was in it. The shares
 * of all paths sum to that thread's life. They are reported as differences from that: parts that
 * stand for its waits, and the parts of its waits that they stand for.
 *
 *	main    ████▒▒▒▒▒▒▒▒▒▒▒▒▒██      ▒ blocked on worker     wall: main 6, worker 8,
 *	worker      ████░░░░░████        ░ blocked on flush            flush 5
 *	flush   ░░░░░░░░█████░░░░
 *
 * A wait is resolved a few milliseconds after it has ended, exactly, from the resolved history of
 * the thread that was waited for. Of that the last WALL_KEEP_NS are kept piece by piece; what is
 * older is kept in coarse bins, by paths. So memory is bounded, and long waits (a join) are exact
 * but at their edges.
 *
 *	spans, stacks, waits ──► raw ──► pieces (who ran, or why nobody) ──► bins (path, metric)
 *
 * Who spins is on a CPU, and waits: its samples in such loops are another thread's that works in
 * its process at that time; those in calls of MPI are another rank's that works outside of such.
 *
 * Where a thread ran is known by its samples: its time in a wait goes to those that fall into the
 * wait; time of waits without one goes along with the next of the same two threads.
 *
 * Events come in the order of time. One thread at a time.
 */
#pragma once

#include "base/cleanup.h"
#include "base/metric.h"
#include "base/stack.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the sampler tells is at most a few milliseconds late. */
#define WALL_KEEP_NS  UINT64_C(1000000000)
#define WALL_WIDTH_NS UINT64_C(250000000) /* of a bin, at first */

struct wall;

/* A sample, or the stack of a wait, at NODE. */
struct wall_stack {
	uint32_t thread, node;
	enum metric metric;
	uint64_t time_ns, duration_ns, weight_ns;
	bool spins;  /* on a CPU, in a loop that waits for another thread */
	bool abroad; /* SPINS: for another process, of those that were started by the same one */
	bool rest;   /* no sample of its own: what was left over goes with another one's stack */
	bool unseen; /* NODE only says that nobody looked */
};

/* Up to UNTIL_NS it was THREAD (0: unknown; WALL_NOBODY: nobody, the thread was woken and waited
   for a CPU) that was waited for. */
#define WALL_NOBODY UINT32_MAX
struct wall_share {
	uint64_t until_ns;
	uint32_t thread;
};

/* The wait of THREAD for RESOURCE, with its shares in the order of time. */
struct wall_wait {
	uint32_t thread;
	uint64_t from_ns, to_ns;
	uint64_t resource; /* an address, or what else tells resources of one kind apart */
	uint32_t module;   /* RESOURCE is an address of its data; 0: of none */
	struct frame made; /* the call that initialized it; module 0: not known */
	uint32_t kind;     /* enum held_kind, or WALL_GIL */
	bool goes_on;      /* it timed out, to be taken up again: who ends that ends this one */
	bool failed;       /* it timed out, or was interrupted */
	bool wakes;        /* the shares are wakeups, of which each ends one wait */
	uint64_t step_ns;  /* after so long it is woken in any case; 0: it is not */
	uint64_t object;   /* of HELD_SEMAPHORE: what stands for it, whoever waits; 0: not known */
	uint32_t count;
	const struct wall_share *shares; /* borrowed */
};

/* WEIGHT_NS of the run's wall time between FROM_NS and TO_NS were THREAD's at NODE; or, with MINUS,
   that much of what the run's own thread did there was not. */
struct wall_part {
	bool minus;
	uint32_t thread, tag; /* see wall_thread() */
	uint32_t node;        /* 0: no stack of the thread is known; MINUS: any of that metric */
	enum metric metric;
	uint64_t from_ns, to_ns;
	double weight_ns;
};

typedef void wall_told(void *context, const struct wall_part *part);

/* What else is reported as it passes, so that a window of the run has it, too. KEY is of which: */
enum wall_series {
	WALL_BUSY,       /* one more than the threads that were on CPUs at once */
	WALL_WANTED,     /* 1: see struct wall_busy */
	WALL_ALONE,      /* the node: see struct wall_alone */
	WALL_WAITED,     /* the number of an edge: its ns, with the number of waits */
	WALL_EDGE_WALL,  /* the same: its wall_ns */
	WALL_EDGE_READY, /* the same: its wall_ready_ns */
	WALL_READY, /* one more than the threads that had CPUs at once, spinning or not: how long
	               others, summed, were ready to run meanwhile */
	WALL_SERIES
};
struct wall_time_part {
	enum wall_series series;
	uint32_t key, count;
	uint64_t from_ns, to_ns;
	double weight_ns;
};

typedef void wall_timed(void *context, const struct wall_time_part *part);

/* Kinds of resources beside enum held_kind: a pipe or socket, by its inode. */
#define WALL_DESCRIPTOR 32
#define WALL_GIL        33 /* the lock of Python's interpreter */
#define WALL_SPIN       34 /* a word in memory that another thread is to change */
#define WALL_SIGNAL     35
#define WALL_LOCK       39 /* a semaphore that is used as a lock */

/* Waits of one thread at one node for one resource, by who was waited for. */
struct wall_edge {
	uint32_t waiter, waiter_node; /* 0: not known */
	uint32_t holder;              /* thread; 0: unknown */
	uint32_t holder_node;         /* where it ran most of that time; 0: not known */
	uint64_t resource;
	uint32_t module;   /* see struct wall_wait */
	struct frame made; /* the same */
	uint32_t kind;
	enum metric cause;
	bool guessed;    /* by who ran as the wait ended */
	uint32_t number; /* from 1, in the order in which they were met */
	/* In who keeps it, 0 here: of RESOURCE; or else of where it was initialized. */
	uint32_t name, file, line;
	uint64_t ns, count, longest_ns;
	uint64_t median_ns;     /* within a fifth */
	uint64_t wall_ns;       /* of the run's wall time, what came by such waits, and by no other
	                           within them */
	uint64_t wall_ready_ns; /* of that, while who was waited for had no CPU */
};

struct wall_coverage {
	uint64_t blocked_ns; /* of all threads, in waits that other threads can end */
	uint64_t known_ns;   /* of that, those whose end is known to be another thread's doing */
	uint64_t guessed_ns; /* the same, by who ran at the time */
	uint64_t late_ns;    /* of waits that were given up: who was waited for was not known yet */
};

/* How many threads of the run were on CPUs at once, without those that spun: for how long 0, 1, 2 …
   were, and from WALL_BUSY_MAX on together. */
#define WALL_BUSY_MAX 256
struct wall_busy {
	uint64_t ns[WALL_BUSY_MAX + 1];
	uint64_t wanted_ns; /* of ns[1], while another thread was ready to run: they took turns */
};

/* Time of a thread at NODE while no other thread of the run was on a CPU, or ready to run. */
struct wall_alone {
	uint32_t node;
	uint64_t ns;
};

/* TOLD hears of the parts of wall time, soon after they have passed. NULL if there is no memory. */
struct wall *wall_new(wall_told *told, void *context);

/* TIMED hears of what has times besides. */
void wall_hear_times(struct wall *w, wall_timed *timed);
void wall_free(struct wall *w); /* NULL is fine */

CLEANUP(wall, struct wall *, wall_free)

/* Processes and threads, by numbers that are not used again; PARENT 0: none of ours. The first
   thread that is reported is that of the run. TAG is handed on with the parts that are its. */
void wall_process(struct wall *w, uint32_t number, uint32_t parent);
void wall_thread(struct wall *w, uint32_t number, uint32_t process, uint32_t tag, uint64_t time_ns);
void wall_thread_end(struct wall *w, uint32_t thread, uint64_t time_ns);

/* PROCESS runs another program from TIME_NS on: who is in vfork() for it goes on. */
void wall_exec(struct wall *w, uint32_t process, uint64_t time_ns);

void wall_span(struct wall *w, const struct span_event *span);
void wall_stack(struct wall *w, const struct wall_stack *stack);
void wall_wait(struct wall *w, const struct wall_wait *wait);
void wall_peers(struct wall *w, const struct peers_event *peers);
void wall_signal(struct wall *w, const struct signal_event *signal);

/* There is no more before NOW_NS: all is resolved, and told. */
void wall_finish(struct wall *w, uint64_t now_ns);

/* The tag of the run's thread; 0: there was none. */
uint32_t wall_root(const struct wall *w);

/* Node numbers have changed: MAP[node - 1]. */
void wall_move_nodes(struct wall *w, const uint32_t *map);

/* In no order; threads by their tags. */
const struct wall_edge *wall_edges(const struct wall *w, size_t *count);
struct wall_coverage wall_coverage(const struct wall *w);

const struct wall_busy *wall_busy(const struct wall *w);
/* In no order; short ones may be missing. */
const struct wall_alone *wall_alone(const struct wall *w, size_t *count);

/* False: an event found no memory, and some wall time may be at no path. */
bool wall_is_whole(const struct wall *w);
