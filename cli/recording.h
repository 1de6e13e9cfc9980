/* SPDX-License-Identifier: MIT */
/*
 * One run from the launch of the target to a symbolized, saved profile.
 *
 *	recording_open() → recording_start() → recording_wait() → recording_save()
 */
#pragma once

#include "cli/checkpoint.h"
#include "cli/collect.h"
#include "cli/facts.h"
#include "cli/job.h"
#include "cli/launch.h"
#include "cli/run_options.h"
#include "cli/sink.h"

#include <limits.h>

#define RECORDING_NOTES_MAX 8

struct recording {
	const struct run_options *options;
	struct facts facts;
	struct job job;
	struct launch launch;
	struct modules *modules;
	struct profile *profile;
	struct sampler *sampler;
	struct sink sink;
	struct checkpoint checkpoint;
	struct collect collect;
	char path[PATH_MAX];                  /* where the profile goes; "" if nowhere */
	char *notes[RECORDING_NOTES_MAX + 1]; /* lines for the report's limits */
	size_t note_count;
};

/* Finds out where the profile will go. -1 if the user named a place that cannot be written. */
int recording_open(struct recording *r, const struct run_options *options, struct error *err);

/* Launches the target under the sampler. -1 with the exit status for it in *STATUS. */
int recording_start(struct recording *r, int *status, struct error *err);

/* Returns when the target has ended. */
int recording_wait(struct recording *r, struct error *err);

/* Names every address. The samples stay good without names: -1 is for a line in the report. */
int recording_symbolize(struct recording *r, struct error *err);

/* Writes the file; what goes wrong becomes a note. */
void recording_save(struct recording *r);

void recording_close(struct recording *r);
