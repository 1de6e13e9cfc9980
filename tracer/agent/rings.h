/* SPDX-License-Identifier: MIT */
/*
 * The agent's side of the shared files: one lane (ring) per thread.
 *
 * Everything here may run in a signal handler: system calls and atomics only,
 * no allocation, no lock that is waited for. Memory of the files is asked for
 * before it is touched, so that a full disk is a dropped record, not a SIGBUS.
 *
 *	          claim                 release            drained by the reader
 *	LANE_FREE ─────► LANE_LIVE ─────────────► LANE_DONE ─────► claimed again
 */
#pragma once

#include "base/namespaces.h"
#include "base/ring.h"
#include "tracer/agent/modes.h"
#include "tracer/protocol.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RINGS_PER_FILE  16
#define RINGS_FILES_MAX 160
#define RINGS_LANES_MAX (RINGS_PER_FILE * RINGS_FILES_MAX)

enum lane_state {
	LANE_FREE,
	LANE_LIVE,
	LANE_DONE
};

struct op_thread;
struct python_chain;

struct lane {
	int state;    /* enum lane_state; atomic */
	uint32_t tid; /* atomic: a scan of other threads' lanes reads it */
	struct ring ring;
	size_t ready;                /* data bytes from the start that are safe to touch */
	size_t owed;                 /* bytes that nobody but the ENDs of open ops may take */
	struct op_thread *ops;       /* see op.h; stays when the lane goes to another thread */
	struct python_chain *python; /* room for one; stays, too; NULL: not yet */

	/* The thread that writes here. */
	uintptr_t stack_low, stack_high;    /* 0: bounds unknown */
	uint64_t cpu_ns;                    /* its CPU clock at the last sample */
	struct modes modes;                 /* and in which mode it was hit until the last tick */
	int timer;                          /* kernel timer id, -1 if none */
	uint64_t rest_from_ns, rest_for_ns; /* of its CPU clock: no samples are taken */
	uint64_t rested_ns;                 /* periods that were left out for that */
	bool late; /* found by a scan: its CPU time before the first sample is not that sample's */

	/* How it begins: filled by its creator. START is NULL once it has begun; atomic. */
	void *(*start)(void *argument);
	void *argument;
	uint32_t parent_tid;
	uint32_t maker_pid; /* in a child that was forked while the thread was made: another's */
	unsigned blocked;   /* of our signals, those that the target believes to be blocked */
};

struct rings {
	char directory[256]; /* "" : off */
	uint32_t pid;
	uint64_t image_ns;
	struct namespaces namespaces; /* where the files' pids and times are counted */
	uint32_t collector_namespace; /* where it counts pids; 0: unknown */
	uint32_t collector_filters;   /* of system calls, which it is under itself */
	uint32_t collector_pid;       /* there; 0: unknown */
	uint64_t collector_zero_ns;   /* what CLOCK_REALTIME is ahead of CLOCK_MONOTONIC there */
	bool introduced;              /* the namespaces have been read */
	uint32_t data_bytes;
	bool by_populate; /* MADV_POPULATE_WRITE is there (5.14); else files are allocated whole */
	int growing;      /* atomic: someone adds a file */
	uint32_t lane_count; /* atomic */
	struct protocol_file *files[RINGS_FILES_MAX];
	struct lane lanes[RINGS_LANES_MAX];
};

/*
 * Finds out which namespaces this process is in, once: it may lose sight of /proc. Where the
 * collector counts processes otherwise, and cannot know which one this is, it is told
 * (PROTOCOL_DOOR).
 */
void rings_introduce(struct rings *r, uint32_t pid, uint64_t image_ns);

/* Whether nobody reads what is written there any more: the collector has ended, or its directory is
   gone. */
bool rings_are_orphaned(const struct rings *r);

/*
 * Makes the first file in DIRECTORY. False (and off) if that cannot be. R is
 * zeroed memory or has been through rings_abandon().
 */
bool rings_start(struct rings *r, const char *directory, uint32_t pid, uint64_t image_ns);
bool rings_start_with(struct rings *r, const char *directory, uint32_t pid, uint64_t image_ns,
                      bool by_populate);

/*
 * Forgets all files, which a fork has handed down, and unmaps them. Keeps the directory, and how
 * threads begin that are being made.
 */
void rings_abandon(struct rings *r);

/* The same for who goes on to write for a moment: it goes nowhere. rings_abandon() follows. */
void rings_detach(struct rings *r);

/* A lane for TID, adding a file if need be. NULL if there is none to be had, or not now. */
struct lane *rings_claim(struct rings *r, uint32_t tid);

/* The same, not for handlers: yields while another thread adds a file. A NULL is counted. */
struct lane *rings_claim_patiently(struct rings *r, uint32_t tid);

/* The lane's thread is gone; the ring is given to another when it has been drained. */
void rings_release(struct lane *lane);

/* The live lane of TID, NULL if it has none. Looks at *HINT first and moves it on. */
struct lane *rings_find(struct rings *r, uint32_t tid, uint32_t *hint);

/*
 * As ring_reserve() and ring_commit(), but memory-safe, starting over whenever it is drained, and
 * leaving what is owed.
 */
struct record *lane_reserve(struct lane *lane, bool by_populate, size_t size);
static inline void lane_commit(struct lane *lane, struct record *record, size_t size)
{
	ring_commit(&lane->ring, record, size);
}

/* Bytes that are free and not owed. Starts over if it can. */
size_t lane_room(struct lane *lane);

/* Room that has been seen to be there, or is owed. NULL only if there is no memory for it. */
struct record *lane_take(struct lane *lane, bool by_populate, size_t size);

/*
 * A lane of no thread with a ring of DATA_BYTES in a file of its own, "PID-IMAGE-NAME": for who
 * writes much at once. False if there is no room. In a forked child rings_drop_apart() unmaps it.
 */
bool rings_make_apart(struct rings *r, const char *name, uint32_t data_bytes, struct lane *lane);
void rings_drop_apart(struct lane *lane);

/*
 * Writes into LANE the CPU time since its thread's last sample, up to CPU_NS, which no stack goes
 * with.
 */
void rings_write_rest(const struct rings *r, struct lane *lane, uint64_t cpu_ns);

/* Makes the file of names. NULL if that cannot be. */
void *rings_map_names(struct rings *r);

/* Appends TOTALS to the file that all processes share. */
void rings_append_totals(struct rings *r, const struct record_memory *totals);

/* Appends there that a process has no rings, and will have none. */
void rings_append_refusal(struct rings *r);
