/* SPDX-License-Identifier: MIT */
/*
 * Where events come from: the kernel's rings, the agent's rings, or /proc.
 *
 * Each rung of the ladder (enum rung) is one `struct source_ops`. The sampler
 * opens the best one that works, drains it, and knows nothing else about it.
 * A source follows the whole tree of its child and reports, per process:
 *
 *	FOUND → a process or thread that ran before this; before anything else of it
 *	FORK  → the child process or thread; before anything else of it, if seen at all
 *	EXEC  → the process is another program: its mappings are gone
 *	MAP   → executable memory; before the samples in it, if seen at all
 *	UNMAP → it is gone. May be left out where a MAP of what came after it follows
 *	SAMPLE, SWITCH, THREAD (a name), LOST
 *	OP_*, ALLOC, FREE, MEMORY from rung 3, where they come with the samples
 *	EXIT  → one for every thread that it reported; the last one ends the process
 *
 * What a source cannot see it leaves out: the sampler makes a task on the spot
 * when an event names an unknown one, and reads /proc/PID/maps when an address
 * lies in no known mapping. So a source without FORK or MAP still works.
 *
 * Samples: SAMPLE_ON_CPU weighs CPU time. SAMPLE_SWITCH weighs nothing, it is the stack of the
 * switch at its time. SAMPLE_PROBE from a source (not from off_cpu) weighs
 * the wall time for which the thread is taken to have been blocked there.
 */
#pragma once

#include "base/rung.h"
#include "sampler/event/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct error;
struct ops;
struct source;

struct source_request {
	pid_t child; /* our child, waiting before its exec; or the first of ATTACHED */
	const pid_t
		*attached; /* processes that run already, with the children they have; or NULL */
	size_t attached_count;
	bool eager; /* samples are handed on at once: more is read of their threads */
	uint32_t frequency_hz;
	uint32_t stack_bytes;
	bool fewer_stack_bytes;      /* will do where there is little memory for samples, */
	bool fewer_samples;          /* and a lower rate */
	bool off_cpu;                /* SWITCH records are wanted, and switch samples if allowed */
	const char *agent_directory; /* see struct sampler_options; may be NULL */
	struct ops *ops;             /* where ops get their numbers; NULL: none are wanted */
};

/* What an open source delivers. */
struct source_facts {
	bool kernel_samples;     /* samples are taken in the kernel too; else only in user code */
	bool kernel_stacks;      /* samples taken in the kernel have a kernel chain */
	bool switches;           /* RECORD_SWITCH: on-CPU and off-CPU times are exact */
	bool switches_estimated; /* they are laid so that exact totals come true (rungs 3 and 4) */
	bool switch_samples;     /* SAMPLE_SWITCH */
	uint32_t frequency_hz;   /* the rate in force */
	bool short_stacks;       /* samples may hold little of their stack, and few all of it */
	char note[192]; /* something to tell the user ("rings are only 256 KB: ..."), or "" */
};

/*
 * Functions marked * may be NULL. Each open source begins with a `struct source`:
 *
 *	struct perf_source { struct source base; ... };
 */
struct source_ops {
	enum rung rung;

	/* NULL on failure: ERR says why, its hint says what would help (a sentence); nothing of a
	   source that cannot do it for anybody. */
	struct source *(*open)(const struct source_request *request, struct error *err);
	void (*close)(struct source *s);

	/* A descriptor for poll(), readable when there is work; -1: by timeout only. */
	int (*fd)(const struct source *s);

	/* How long the collector may sleep, at most LIMIT_MS. * (NULL: LIMIT_MS) */
	int (*timeout_ms)(const struct source *s, uint64_t now_ns, int limit_ms);

	/*
	 * The next event that is not younger than UNTIL_NS, in order of time; NULL if there is
	 * none (ERR stays empty) or the source is broken for good (ERR is set). The event and
	 * what it points to is valid until the next call.
	 */
	const struct event *(*next)(struct source *s, uint64_t until_ns, struct error *err);

	/* Samples lost so far. EXACT: may take long, at the end only. */
	uint64_t (*lost)(struct source *s, bool exact);

	/* What handlers in the target have taken of its time so far; NULL: there are none. */
	uint64_t (*handlers_ns)(const struct source *s);

	/* At most so many SAMPLE_SWITCH a second from now on; NULL: there are none. */
	void (*limit_switches)(struct source *s, uint32_t per_second);

	/* How full the memory is in which records wait that the kernel's rings have no room for, 0
	   to 1; NULL: there is none. */
	double (*backlog)(const struct source *s);
	/* Threads for which the agent had no ring, or not at once; NULL: there are none. */
	uint64_t (*unseen_threads)(const struct source *s);

	/* Processes in other PID namespaces that ended before they were known; NULL: none. */
	uint64_t (*strangers)(const struct source *s);

	/* Nothing but close() comes behind this: what that waits for may begin. NULL: nothing. */
	void (*finish)(struct source *s);
};

/* Times that a CPU had nothing of the run to do for at least SOURCE_IDLE_NS between a thread that
   left it and the next that came: how many, and how long in sum. 0: not known. */
#define SOURCE_IDLE_NS UINT64_C(50000)
struct source_gaps {
	uint64_t count, ns;
};

struct source {
	const struct source_ops *ops;
	struct source_facts facts;
	struct source_gaps gaps; /* so far */
};

extern const struct source_ops perf_kernel_source; /* sampler/perf/perf_event.c, rung 1 */
extern const struct source_ops perf_user_source;   /* sampler/perf/perf_event.c, rung 2 */
extern const struct source_ops agent_source;       /* sampler/agent/agent_source.c, rung 3 */
extern const struct source_ops proc_source;        /* sampler/agent/proc_source.c, rung 4 */
