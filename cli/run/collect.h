/* SPDX-License-Identifier: MIT */
/*
 * The time between the target's exec and its end: drain, wait, checkpoint.
 */
#pragma once

#include "base/error.h"
#include "merge/profile/profile.h"
#include "merge/record/cpu_clock.h"

#include <stdbool.h>
#include <stdint.h>

struct ahead;
struct machine;
struct recorder;
struct checkpoint;
struct job;
struct launch;
struct sampler;

struct collect {
	struct sampler *sampler;
	struct profile *profile;
	struct recorder *recorder;
	struct job *job;
	const struct launch *launch;
	struct checkpoint *checkpoint;
	struct ahead *ahead;
	const struct machine *machine; /* at the start */
	uint32_t self_hz;              /* the rate of programs that sample themselves */

	/* Facts about the run: what is known at its start is given, the rest is filled in. */
	struct run run;

	/* Filled in. */
	uint32_t background; /* processes of the target that were still running at its end */
	char background_name[64];
	struct cpu_clock clock;
	uint64_t io_due_ns;  /* when bytes and calls are read next */
	struct error broken; /* why sampling ended early; text is "" if it did not */
};

/* Returns when the target has ended; its wait(2) status is in run.exit_status. */
int collect_until_exit(struct collect *c, struct error *err);
