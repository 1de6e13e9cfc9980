/* SPDX-License-Identifier: MIT */
/*
 * Samples one command and everything it starts, from outside.
 *
 * The sampler opens what this machine allows (see enum rung), follows threads,
 * forks and execs, unwinds every sample while the program runs, works out what
 * blocked threads wait for, and hands complete stacks to its sink, in the order
 * of time up to a millisecond behind now.
 *
 *	launch a child that waits before its exec
 *	sampler_new() → sampler_attach(child) → let the child exec → sampler_begin()
 *	poll sampler_fd(); whenever it is readable or sampler_timeout_ms() has
 *	passed: sampler_drain()
 *	when the last process of interest is gone: sampler_finish()
 *
 * One thread at a time; all sink functions are called from within drain and finish.
 * The modules and the sink must outlive the sampler.
 */
#pragma once

#include "base/cleanup.h"
#include "base/module.h"
#include "base/rung.h"
#include "sampler/event/sink.h"
#include "sampler/op/op_site.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct codes;
struct error;
struct kallsyms;
struct ops;
struct sampler;

struct sampler_options {
	uint32_t frequency_hz; /* samples per second of CPU time of a thread; default 999 */
	uint32_t stack_bytes;  /* user stack to copy per sample; default 32768, at most 65528 */
	enum unwinder_kind unwinder;
	enum rung best_rung;           /* do not try better rungs than this (tests, --rung) */
	bool off_cpu;                  /* default true */
	const char *agent_directory;   /* private directory of the agent's rings; NULL: no rung 3 */
	struct kallsyms *kernel_names; /* borrowed; NULL: it reads them if it needs them */
	const char *op_directory;      /* of the agents' rings, for their ops; NULL: no ops */
	struct ops *ops;               /* where ops get their numbers; with OP_DIRECTORY */
	struct codes *codes;           /* where Python's functions do; NULL: none */
	double budget_percent;         /* overhead allowed, sampler/budget.h; 0: no limit */
	bool enough; /* threads with many samples are sampled less often: sampler/thinning.h */
	/* What hooks of ops and allocations have taken of the target's time so far; NULL: unknown.
	 */
	uint64_t (*hooks_ns)(const void *context);
	const void *hooks;            /* its context */
	op_is_wrapper *op_is_wrapper; /* see sampler/op/op_site.h; NULL: there are none */
	void *op_context;             /* of op_is_wrapper */
};

#define SAMPLER_FREQUENCY_DEFAULT   999
#define SAMPLER_STACK_BYTES_DEFAULT 32768
#define SAMPLER_BUDGET_DEFAULT      3

struct sampler *sampler_new(const struct sampler_options *options, struct modules *modules,
                            const struct sampler_sink *sink, struct error *err);
void sampler_free(struct sampler *s); /* NULL is fine */

CLEANUP(sampler, struct sampler *, sampler_free)

/*
 * Opens the events on CHILD, which must be our child and must not have exec'd
 * the target yet; sampling begins by itself at its exec. Falls down the ladder
 * until something works; -1 only if nothing does.
 */
int sampler_attach(struct sampler *s, pid_t child, struct error *err);

/* The same for COUNT processes that run already, with the children that they have: sampling begins
   at once, and nothing is put into them. What is known of the first one's end is the caller's. */
int sampler_follow(struct sampler *s, const pid_t *pids, size_t count, struct error *err);

/*
 * In the thread that drains and finishes: it becomes urgent, see priority.h. Better not the main
 * one, whose priority is what the target sees of its parent's.
 */
void sampler_begin(struct sampler *s);

/* An epoll descriptor, readable when there is work. Owned by the sampler. */
int sampler_fd(const struct sampler *s);

/* How long the caller may sleep before the next drain. */
int sampler_timeout_ms(const struct sampler *s);

/* Handles what has come in. -1 if the sampler is broken for good (ERR says why). */
int sampler_drain(struct sampler *s, struct error *err);

/* Handles the rest, closes all open intervals at NOW, ends all threads. Call once. */
int sampler_finish(struct sampler *s, struct error *err);

/* Valid until the sampler is freed; up to date after drain and finish. */
const struct sampler_status *sampler_status(const struct sampler *s);
