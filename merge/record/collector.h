/* SPDX-License-Identifier: MIT */
/*
 * What a run is recorded with, from the target's exec to its end: the sampler is drained, facts
 * about the run are read now and then, names are looked up ahead, checkpoints are written.
 *
 *	collector_begin() → { wait for sampler_fd() or collector_timeout_ms() → collector_step() }
 *	                  → the target has ended: collector_end()
 *
 * It knows no terminal and no signals, and does not wait for the target: that is its caller's. One
 * thread at a time; what the fields lead to is the caller's and must outlive the last call.
 */
#pragma once

#include "base/error.h"
#include "merge/profile/profile.h"
#include "merge/record/cpu_clock.h"
#include "merge/record/limits.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct ahead;
struct checkpoint;
struct machine;
struct recorder;
struct rusage;
struct sampler;

struct collector {
	struct sampler *sampler;
	struct profile *profile;
	struct recorder *recorder;
	struct checkpoint *checkpoint;
	struct ahead *ahead;
	const struct machine *machine; /* at the start */
	uint32_t self_hz;              /* the rate of programs that sample themselves */
	pid_t target;

	/* Facts about the run: what is known at its start is given, the rest is filled in. */
	struct run run;

	/* Filled in. */
	uint32_t background; /* processes of the target that were still running at its end */
	char background_name[64];
	struct cpu_clock clock;
	struct limits limits;
	uint64_t io_due_ns;     /* when bytes and calls are read next */
	uint64_t rss_due_ns;    /* the same of memory, */
	uint64_t curves_due_ns; /* and when it is told */
	uint64_t own_cpu_ns;    /* of this process, when it began */
	struct error broken;    /* why sampling ended early; text is "" if it did not */
};

/* In the thread that takes all other steps: see sampler_begin(). */
void collector_begin(struct collector *c);

/* How long the caller may wait for the sampler's descriptor, at most LIMIT. */
int collector_timeout_ms(const struct collector *c, int limit_ms);

/* Takes what the sampler has. A sampler that breaks is no reason to stop the target. */
void collector_drain(struct collector *c);

/* Does what is due, after collector_drain(). */
void collector_step(struct collector *c);

/* The target, or its parent, may have changed its state: checkpoint writers are children, too. */
void collector_look(struct collector *c);

/* The target has ended, as wait4(2) says. */
void collector_end(struct collector *c, int status, const struct rusage *usage);
