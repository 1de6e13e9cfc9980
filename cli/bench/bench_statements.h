/* SPDX-License-Identifier: MIT */
/*
 * Statements that are measured, alone or beside each other: for each variant and number of threads
 * a group of processes, one for each statement, which run their blocks in turns. Runs of whole
 * commands may be part of the turns.
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
	size_t commands;         /* that are measured with them, with each number of threads */
	double adaptive_percent; /* until the IQR is so much of the median, or less; 0: off */
};

#define STATEMENTS_THREADS_MAX 16

/* -1 if the texts of S mean nothing, or are too many. */
int statements_check(const struct statements *s, struct error *err);

/* The numbers of threads that TEXT says, as "1,2,4"; NULL says 1. -1 if it says anything else. */
int statements_read_threads(const char *text, uint32_t threads[STATEMENTS_THREADS_MAX],
                            size_t *count, struct error *err);

/*
 * Commands that are measured in turns with them: BEGIN before those with THREADS threads, RUN in
 * each turn, which returns 1 where all of them have had enough runs, 0 where not. -1 on error.
 */
struct statements_commands {
	void *context;
	int (*begin)(void *context, uint32_t threads, struct error *err);
	int (*run)(void *context, size_t turn, struct error *err);
};

/*
 * Measures them for MIN_TIME_NS each, or BLOCKS blocks if that is not 0, after WARMUP blocks, into
 * PROFILE, whose run began at START_NS. Ends early, with 0, where the user has interrupted JOB. -1
 * on error.
 */
struct statements_plan {
	const struct statements *statements;
	struct statements_commands commands; /* RUN NULL: none */
	uint64_t min_time_ns;
	uint32_t blocks, warmup;
	bool show_output;
	uint64_t start_ns;
};
int statements_measure(const struct statements_plan *plan, struct profile *profile, struct job *job,
                       struct error *err);
