/* SPDX-License-Identifier: MIT */
/*
 * What the agent says of its process; samples are written by sample/tick.h.
 *
 * An agent writes into its rings what happens in one process. All functions
 * but agent_start() may run in a signal handler. After a fork the child's agent
 * is dormant: it makes its files when there is a first sample to put there, as
 * most children exec at once.
 */
#pragma once

/* Of what the agent does for itself when a program begins, forks or ends: a sample below it is
   its own, see tracer/hooks.ld.in. */
#define AGENT_SETUP __attribute__((section(".text.agent_setup")))

#include "tracer/agent/config.h"
#include "tracer/agent/objects.h"
#include "tracer/agent/rings.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AGENT_MAPS_KNOWN 1024

/* How a process samples itself, whoever else samples it. */
enum agent_self {
	SELF_NOT,
	SELF_TRAPS, /* see sample/trap.h */
	SELF_TIMERS /* see sample/ticker.h */
};

struct agent {
	struct config config;
	uint64_t period_ns;
	int self;    /* atomic: enum agent_self */
	bool on;     /* there is, or will be, somewhere to write */
	bool forked; /* this process has begun by a fork, not by exec */
	bool joined; /* the agent has come to a process that ran already, and not to its children */
	int attaching; /* atomic: the files are being made */
	int naming;    /* atomic: the file of names is */
	uint32_t pid, parent_pid;
	uint64_t born_ns;
	struct modes begun;   /* of the main thread, by the start of the program */
	struct lane *process; /* ring of what is said of the process */
	int speaking;         /* atomic: someone writes there */
	uint64_t maps_ns;     /* when the mappings were last read */
	uint32_t known_count;
	uint32_t lasting_count; /* of them, those that were there at the start: they stay */
	uint64_t maps_due_ns;   /* not before, or reading them would cost too much */
	bool loaded;            /* objects have come since the mappings were last read */
	bool over;              /* nothing is said of the process any more */
	uint32_t users;         /* atomic: threads that may write to the rings: agent_use() */
	/* Large, and written from their beginnings: a short process touches no more. */
	struct rings rings;
	uint64_t known_maps[AGENT_MAPS_KNOWN]; /* hashes of those that have been written */
	struct objects objects;
};

/*
 * What the calling thread calls now is called by us, and not to be traced (trace_calls.h). Who sets
 * it puts back what was there.
 */
enum agent_untraced {
	AGENT_TRACED,
	AGENT_OURS,   /* and what that calls is ours, too */
	AGENT_WRITING /* a call is written down, by our code and leaf functions of libc: else a
	                 handler calls */
};
extern __thread uint8_t agent_untraced __attribute__((tls_model("initial-exec")));

/* A program has begun in this process. A is zeroed. False: the agent stays off. */
bool agent_start(struct agent *a, const char *directory, const char *config);

/* The calling thread is about to fork, and has done so or not: a child is there from then on, even
   if it gets no CPU for a while. Keep errno. */
void agent_before_fork(void);
void agent_after_fork(void);

/* The process that A describes has forked, and this is the child. */
void agent_fork(struct agent *a);

/* Whether the agent samples; else it is here for ops alone, and another samples. */
static inline bool agent_samples(const struct agent *a)
{
	return a->config.frequency_hz != 0;
}

/* Whether it also reports processes, threads and mappings; else it samples only the kernel. */
static inline bool agent_tells(const struct agent *a)
{
	return agent_samples(a) && !a->config.kernel_only;
}

/* Whether its threads have CPU-time timers. */
static inline bool agent_has_timers(const struct agent *a)
{
	return agent_samples(a) || __atomic_load_n(&a->self, __ATOMIC_RELAXED) == SELF_TIMERS;
}

/*
 * The rings stay until agent_let_go(), should the agent leave the process meanwhile. False: it is
 * off, and there is nothing to let go of. Who is in an op (op_enter()) need not ask.
 */
static inline bool agent_use(struct agent *a)
{
	__atomic_fetch_add(&a->users, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&a->on, __ATOMIC_SEQ_CST))
		return true;
	__atomic_fetch_sub(&a->users, 1, __ATOMIC_RELEASE);
	return false;
}

static inline void agent_let_go(struct agent *a)
{
	__atomic_fetch_sub(&a->users, 1, __ATOMIC_RELEASE);
}

/* Makes sure that there is somewhere to write: true if there is. */
bool agent_attach(struct agent *a);

/*
 * Room for a record of TYPE of LANE's thread, zeroed but for its head; lane_commit() makes it
 * visible. NULL (counted as dropped) if there is none. Async-signal-safe.
 */
struct record *agent_reserve(const struct agent *a, struct lane *lane, uint16_t type, size_t size);

/* Executable mappings that have not been reported yet. */
void agent_write_maps(struct agent *a);

/*
 * Before and after the program unloads an object. What goes away is reported as it was, and that it
 * is gone, as the next object may come to lie in its place. Not for handlers.
 */
void agent_before_unload(struct agent *a);
void agent_after_unload(struct agent *a);

/* A thread begins in LANE (its tid and parent_tid are set), or ends. */
void agent_write_begin(struct agent *a, struct lane *lane);
void agent_write_end(struct agent *a, struct lane *lane);

/* LANE's thread is about to make one that begins at START; or has not made it, then that is 0. */
void agent_write_birth(const struct agent *a, struct lane *lane, uintptr_t start);

/* WRITE has the last word on the process, in its ring, where nobody else writes meanwhile. */
void agent_write_last(struct agent *a, void (*write)(const struct agent *a, struct lane *lane));
