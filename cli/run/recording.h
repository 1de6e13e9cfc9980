/* SPDX-License-Identifier: MIT */
/*
 * One run from the launch of the target to a symbolized, saved profile.
 *
 *	recording_open() → recording_start() → recording_wait() → recording_save()
 *
 * For the main thread of a process that has one: it waits for signals and children, and blocks
 * SIGCHLD. Whoever opens a recording closes it, also on errors; what it borrows must outlive it.
 */
#pragma once

#include "cli/report/facts.h"
#include "cli/run/job.h"
#include "cli/run/launch.h"
#include "cli/run/run_options.h"
#include "merge/record/ahead.h"
#include "merge/record/checkpoint.h"
#include "merge/record/collector.h"
#include "merge/record/machine.h"
#include "merge/record/recorder.h"

#include <limits.h>

struct codes;
struct early;
struct kallsyms;
struct ops;
struct session;

/* What the agent tells of CPU time. */
enum agent_role {
	ROLE_NONE,
	ROLE_KERNEL_TIME, /* for whom the kernel worked, which perf events may not see */
	ROLE_SAMPLES      /* everything */
};

struct recording {
	const struct run_options *options;
	struct machine machine; /* at the start */
	struct facts facts;
	struct job job;
	struct launch launch;
	struct modules *modules;
	struct ops *ops;     /* those of the profile; outlives it */
	struct codes *codes; /* the same */
	struct profile *profile;
	struct kallsyms *kernel_names; /* for the sampler and for the symbolizer */
	struct sampler *sampler;
	struct early *early; /* NULL: all names are looked up at the end */
	struct ahead ahead;
	struct recorder recorder;
	struct checkpoint checkpoint;
	struct collector collector;
	char path[PATH_MAX];          /* where the profile goes; "" if nowhere */
	char agent[PATH_MAX];         /* the agent library, where it is needed */
	struct session *session;      /* of the agent; NULL if there is none */
	enum agent_role agent_role;   /* what it is there for, beside ops */
	uint32_t others_hz;           /* the rate for who does not sample itself */
	char facts_text[4096];        /* lines for the limits of this and every later report */
	char kept[PATH_MAX * 2 + 64]; /* where the profile is, or why not; "" if nobody asked */
};

/* Finds out where the profile will go. -1 if the user named a place that cannot be written. */
int recording_open(struct recording *r, const struct run_options *options, struct error *err);

/* Launches the target under the sampler. -1 with the exit status for it in *STATUS. */
int recording_start(struct recording *r, int *status, struct error *err);

/* Returns when the target has ended. */
int recording_wait(struct recording *r, struct error *err);

/* Names every address. The samples stay good without names: -1 is for a line in the report. */
int recording_symbolize(struct recording *r, struct error *err);

/* Writes the file. */
int recording_save(struct recording *r, struct error *err);

void recording_close(struct recording *r);
