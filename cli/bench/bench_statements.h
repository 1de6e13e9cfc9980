/* SPDX-License-Identifier: MIT */
/*
 * Statements that are measured, alone or beside each other: for each variant and number of threads
 * a group of processes, one for each statement, which run their blocks in turns.
 *
 * Blocks are as long as blocked_autorange() of torch.utils.benchmark makes them: ten times as many
 * calls until reading the clock takes less than a ten-thousandth, and a block a thousandth of the
 * time that there is.
 */
#pragma once

#include "cli/option.h"
#include "merge/profile/repeats.h"

#include <stdbool.h>
#include <stdint.h>

struct error;
struct job;
struct profile;

struct statements {
	struct option_list codes, versus, sweeps; /* a sweep: "n=64,256" */
	const char *setup, *global, *threads;     /* NULL: nothing; THREADS "1,2,4": 1 */
	const char *python;
	bool cxx;
	double adaptive_percent; /* until the IQR is so much of the median, or less; 0: off */
};

/* -1 if the texts of S mean nothing, or are too many. */
int statements_check(const struct statements *s, struct error *err);

/*
 * Measures them for MIN_TIME_NS each, or BLOCKS blocks if that is not 0, after WARMUP blocks, into
 * PROFILE, whose run began at START_NS. Ends early, with 0, where the user has interrupted JOB. -1
 * on error.
 */
struct statements_plan {
	const struct statements *statements;
	uint64_t min_time_ns;
	uint32_t blocks, warmup;
	bool show_output;
	uint64_t start_ns;
};
int statements_measure(const struct statements_plan *plan, struct profile *profile, struct job *job,
                       struct error *err);
