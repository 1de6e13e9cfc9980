/* SPDX-License-Identifier: MIT */
/*
 * A command is data: one file in cli/ defines one `const struct command`, and
 * the table in cli/main.c is the list of them.
 */
#pragma once

struct command {
	const char *name;    /* "report" */
	const char *summary; /* one line for the list of commands */
	/* Runs with argv[0] = the command's name; returns the exit status. */
	int (*run)(int argc, char **argv);
};

extern const struct command command_run;
extern const struct command command_report;
extern const struct command command_diff;
extern const struct command command_check;
extern const struct command command_explain;
extern const struct command command_bench;
extern const struct command command_batch;
extern const struct command command_count;
extern const struct command command_merge;

/* env(1)'s statuses. */
#define EXIT_OURS       125 /* bottleneck itself failed */
#define EXIT_CANNOT_RUN 126
#define EXIT_NOT_FOUND  127

/* Gates: see cli/gate.h and cli/diff_report.h. */
#define EXIT_FINDING      90
#define EXIT_REGRESSION   91
#define EXIT_INCONCLUSIVE 92

/* report and check: nothing was run, so there is no target to tell from. */
#define EXIT_REPORT 1
