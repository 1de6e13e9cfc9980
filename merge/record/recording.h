/* SPDX-License-Identifier: MIT */
/*
 * One run of a program, recorded: from what is wanted of it to a profile with names.
 *
 *	recording_new() → fork a child that waits; recording_export() in it before its exec
 *	→ recording_attach() → recording_start() → let the child exec
 *	→ recording_begin() → { wait for recording_fd() or recording_timeout_ms() →
 *	  recording_drain() → recording_step() } → the child has ended: recording_end()
 *	→ recording_finish() → recording_symbolize() → recording_profile()
 *
 * Of processes that run already: recording_new() → recording_attach() with the first of them →
 * recording_start() → recording_begin() and on, until the caller has enough or they have ended.
 *
 * It knows no terminal and no signals, launches nobody and waits for nobody: that is its caller's.
 * From recording_begin() to recording_end() one thread, of which it makes an urgent one; one at a
 * time otherwise. The caller owns it; what options and the run lead to must outlive it.
 */
#pragma once

#include "base/cleanup.h"
#include "base/rung.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct error;
struct profile;
struct recording;
struct run;
struct rusage;

#define RECORDING_TRACE_BYTES 4096 /* of all patterns of --trace, with an end each */

enum recording_unwinder {
	RECORDING_UNWIND_TABLE,
	RECORDING_UNWIND_LIBUNWIND /* slower */
};

/* Stacks of calls that launch something on a GPU. */
enum recording_launches {
	RECORDING_LAUNCHES_OFF,
	RECORDING_LAUNCHES_SAMPLED, /* of some each second */
	RECORDING_LAUNCHES_ALL
};

struct recording_options {
	/* What the child will exec, or what the first of ATTACHED runs; borrowed up to the end of
	   recording_symbolize(). */
	char *const *argv;
	const pid_t *attached; /* processes that run already, with the children that they have;
	                          NULL: a child is started. Nothing is put into them, unless
	                          AGENT says so */
	size_t attached_count;
	uint32_t frequency_hz; /* samples per second of CPU time of a thread */
	bool exact_samples;    /* that is the rate of the whole run, unless it is too much */
	uint32_t stack_bytes;  /* captured with each sample */
	enum recording_unwinder unwinder;
	enum rung best_rung;     /* no better one than this */
	bool off_cpu;            /* what threads wait for */
	double budget_percent;   /* overhead allowed; 0: no limit */
	uint32_t timeline_limit; /* slices; 0: none */

	/* The agent, and what it records. */
	bool agent;
	uint32_t ops;      /* providers: bits 1 << enum op_provider */
	bool exact_ops;    /* all ops are recorded, whatever that costs */
	bool exact_malloc; /* the same for allocations: all are counted */
	bool malloc, waits, count_calls;
	bool gpu_lines, gpu_graph_nodes;
	enum recording_launches launches;
	const char *const *trace; /* patterns of functions */
	size_t trace_count;

	/* Which part of the run, see merge/record/recorded.h. */
	uint64_t delay_ns, duration_ns; /* 0: none */
	const char *range;              /* glob; NULL: none */
	const char *schedule, *steps;   /* NULL: none; a schedule needs both */
	bool start_paused;

	bool debuginfod;        /* fetch debug information */
	bool jit_names;         /* have run-time compilers write names: merge/record/jit_names.h */
	const char *checkpoint; /* the file that gets one now and then; NULL: none does */
	const char *kernel_names; /* a file that keeps the kernel's; NULL: none does */
	const char *names;        /* a directory that keeps those of libraries; the same */
	const char *prices;       /* a file that keeps what recording costs; the same */
	const char *pricer; /* a program that measures that: merge/record/prices.h; the same */
};

/* All that the kernel lets us see, of all of the run. */
struct recording_options recording_default(void);

/* Makes what the child's environment needs, and nothing big: a child that is forked now does not
   count our memory as its peak. NULL on error. */
struct recording *recording_new(const struct recording_options *options, struct error *err);
void recording_free(struct recording *r); /* NULL is fine */

CLEANUP(recording, struct recording *, recording_free)

/* In the child: the agent is to get into what it will exec. Without memory it does not. R may be
   NULL. */
void recording_export(const struct recording *r);

/* CHILD, which waits before its exec, is what is recorded. -1 on error. */
int recording_attach(struct recording *r, pid_t child, struct error *err);

/* The run begins now: RUN says when, and what is known of it by then. Its texts are borrowed. */
void recording_start(struct recording *r, const struct run *run);

/* First in the thread that takes all steps until recording_end(). */
void recording_begin(struct recording *r);

/* Readable when there is something to drain; -1: there will be nothing more. Not to be closed. */
int recording_fd(const struct recording *r);

/* How long the caller may wait for that, at most LIMIT_MS. */
int recording_timeout_ms(const struct recording *r, int limit_ms);

/* Takes what has come in. Sampling that breaks is no reason to stop the program. */
void recording_drain(struct recording *r);

/* Does what is due, after recording_drain(): reads facts about the run, looks up names, writes a
   checkpoint. */
void recording_step(struct recording *r);

/* A child, which may be the program or a writer of ours, may have changed its state. */
void recording_look(struct recording *r);

/* The program has ended, as wait4(2) says. Of processes that were there before: STATUS is -1 and
   USAGE NULL. */
void recording_end(struct recording *r, int status, const struct rusage *usage);

/* The profile gets all facts about the run, and lines that say what was not seen, and why. What the
   run ran with takes longer: a thread looks for it up to recording_symbolize(). -1 on error. */
int recording_finish(struct recording *r, struct error *err);

/* Names every address, and adds what the run ran with; PROGRESS (NULL: nobody) learns what is being
   read. The samples stay good without names: -1 is for a line in the report. */
int recording_symbolize(struct recording *r, void (*progress)(void *context, const char *what),
                        void *context, struct error *err);

/* R's own. */
struct profile *recording_profile(struct recording *r);

/* The same of a profile that has been read: a checkpoint, whose recording did not come to its end.
 */
int recording_name_checkpoint(struct profile *p, bool debuginfod,
                              void (*progress)(void *context, const char *what), void *context,
                              struct error *err);
