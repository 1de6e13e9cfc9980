/* SPDX-License-Identifier: MIT */
/*
 * One command of a batch, run under bottleneck as often as it is to be.
 *
 *	DIRECTORY/NAME.bneck   the profile      of several runs NAME.1.bneck, NAME.2.bneck ...
 *	DIRECTORY/NAME.txt     the report
 *	DIRECTORY/NAME.out     what it printed, on both streams
 *
 * A run that takes too long is ended by SIGTERM, so that its profile is kept; what has not gone ten
 * seconds later is killed.
 *
 * One runner at a time, in the main thread: from batch_runner_open() to batch_runner_close() the
 * process's signals are its.
 */
#pragma once

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct batch_job;
struct error;

enum batch_outcome {
	BATCH_NOT_RUN,
	BATCH_PASSED,
	BATCH_INCONCLUSIVE, /* 92 */
	BATCH_GATE,         /* 90 */
	BATCH_FAILED,       /* with a status of its own */
	BATCH_TIMEOUT,
	BATCH_STOPPED, /* it wanted the terminal, which would have stopped it for ever */
	BATCH_CRASHED, /* by a signal */
	BATCH_ERROR    /* it could not be run, or not be profiled: from here on worse is higher */
};

struct batch_result {
	enum batch_outcome outcome; /* of the worst run */
	int status;                 /* what it stands for as an exit status */
	int signal;                 /* that ended it; 0: none */
	bool kept;                  /* it passed in an earlier batch, and was not run again */
	uint32_t runs;
	uint64_t wall_ns;   /* the median of the runs */
	uint64_t sum_ns;    /* of all of them */
	char finding[40];   /* the id of the last run's first finding; "" if there is none */
	char function[160]; /* where most of its time went; "" if that is not known */
	char message[400];  /* what went wrong */
};

struct batch_runner {
	char directory[PATH_MAX]; /* absolute: of the files */
	sigset_t waited;          /* blocked: SIGCHLD, and what ends a batch */
	sigset_t old_mask;
	struct sigaction old_child; /* of SIGCHLD */
	int stopped_by;             /* the signal that ended the batch; 0: none */
};

/* Makes DIRECTORY. From here on SIGINT, SIGTERM and SIGHUP only end the command that runs. */
int batch_runner_open(struct batch_runner *runner, const char *directory, struct error *err);
void batch_runner_close(struct batch_runner *runner);

/* "crashed" */
const char *batch_outcome_name(enum batch_outcome outcome);

/* Whether JOB's words can be split. -1 with what is wrong. */
int batch_check(const struct batch_job *job, struct error *err);

/* Fills in RESULT; whatever goes wrong is in it. */
void batch_run(struct batch_runner *runner, const struct batch_job *job,
               struct batch_result *result);
