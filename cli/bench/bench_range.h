/* SPDX-License-Identifier: MIT */
/*
 * How long the calls of one op take within a run: the command is run under "bottleneck run", for
 * its ops alone, and asked for the op. A range is its caller's, for one thread; closing it removes
 * the profile.
 */
#pragma once

#include "cli/option.h"

#include <limits.h>

struct error;
struct repeat;

struct bench_range {
	const char *glob;                /* of the op's name; borrowed, as TRACE */
	const struct option_list *trace; /* functions that are to be ops */
	char path[PATH_MAX];             /* the profile of the last run; "" if there is none */
};

/* -1 if there is no place for a profile. */
int bench_range_open(struct bench_range *range, const char *glob, const struct option_list *trace,
                     struct error *err);
void bench_range_close(struct bench_range *range);

/* The command that runs ARGV so: fresh, ends with NULL, its words are borrowed. NULL on error. */
char **bench_range_command(const struct bench_range *range, char *const *argv, struct error *err);

/*
 * Fills in calls, calls_ns and call_ns of the run that has just ended. -1 if the glob means no op
 * or several, for then there is no one time of a call.
 */
int bench_range_read(const struct bench_range *range, struct repeat *repeat, struct error *err);
