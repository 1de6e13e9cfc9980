/* SPDX-License-Identifier: MIT */
/*
 * A command is data: one file defines one `const struct command`, and
 * COMMANDS is the list of them.
 */
#pragma once

#include <stddef.h>

struct error;
struct option_group;

#define COMMAND_USAGES 2

struct command {
	const char *name;                  /* "report" */
	const char *usage[COMMAND_USAGES]; /* "report [OPTIONS] [FILE]"; unused ones are NULL */
	const char *summary;               /* one line for the list of commands */
	/* Runs with argv[0] = the command's name; returns the exit status. */
	int (*run)(int argc, char **argv);
};

/* Prints COMMAND's usage and its options, as --help does; returns the exit status of that, 0. */
int command_help(const struct command *command, const struct option_group *groups,
                 size_t group_count);

/* -1 with the line, and the usage as its hint, of a COMMAND that was given no program. */
int command_no_program(const struct command *command, struct error *err);

/* All of them, in the order of --help. */
#define COMMANDS(X)                                                                                \
	X(run)                                                                                     \
	X(report) X(diff) X(bench) X(count) X(batch) X(merge) X(top) X(check) X(explain)

#define COMMAND_DECLARE(name) extern const struct command command_##name;
COMMANDS(COMMAND_DECLARE)
#undef COMMAND_DECLARE

/* The command that WORD was probably meant to be; NULL if none is near. */
const char *command_meant(const char *word);

/* env(1)'s statuses. */
#define EXIT_OURS       125 /* bottleneck itself failed */
#define EXIT_CANNOT_RUN 126
#define EXIT_NOT_FOUND  127

/* Gates: see cli/report/gate.h and cli/report/diff_report.h. */
#define EXIT_FINDING      90
#define EXIT_REGRESSION   91
#define EXIT_INCONCLUSIVE 92

/* report and check: nothing was run, so there is no target to tell from. */
#define EXIT_REPORT 1
