/* SPDX-License-Identifier: MIT */
/*
 * The options of "bottleneck run".
 */
#pragma once

#include "base/provider.h"
#include "cli/option.h"
#include "cli/report/view.h"
#include "merge/record/recording.h"

#include <stdbool.h>
#include <stdint.h>

struct error;

struct run_options {
	uint32_t frequency_hz;
	bool exact_rate; /* it was asked for */
	uint32_t stack_bytes;
	int unwinder; /* enum recording_unwinder */
	int rung;     /* enum rung less 1 */
	bool no_off_cpu;
	const char *pids;               /* of processes that run already; NULL: one is started */
	bool agent;                     /* is loaded into these */
	uint64_t delay_ns, duration_ns; /* 0: none */
	const char *range;              /* glob; NULL: none */
	bool start_paused;
	bool names;              /* of what run-time compilers make */
	uint32_t timeline_limit; /* slices; 0: none */
	double budget_percent;   /* 0: no limit */
	bool no_agent;
	bool no_ops;
	bool off[OP_PROVIDERS_ALL]; /* by enum op_provider: the option that switches it off is given
	                             */
	bool gpu_lines, gpu_graph_nodes;
	int gpu_callsites; /* enum recording_launches */
	struct option_list exact;
	uint32_t exact_bits; /* 1 << enum exact */
	bool count_calls;
	struct option_list trace;
	const char *output;      /* NULL: the last run's place; a pattern of cli/file_name.h */
	const char *report_file; /* NULL: stderr; a pattern, too */
	const char *ranks;       /* NULL: all; a list of base/rank.h */
	bool no_report;
	bool debuginfod;
	bool version, help_all;
	struct view view;
	char **argv; /* the program and its arguments */
};

/* Fills OPTIONS from ARGV (argv[0] is skipped). -1 with one line in ERR. */
int run_options_parse(struct run_options *options, int argc, char **argv, struct error *err);

/* The providers of ops that are wanted: bits 1 << enum op_provider. */
uint32_t run_options_ops(const struct run_options *options);

/* Whether allocations are looked at. */
bool run_options_malloc(const struct run_options *options);

/* The same for who records; files are the caller's to add. OPTIONS must outlive it. */
struct recording_options run_options_recording(const struct run_options *options);

/* Prints the groups for --help. */
void run_options_help(FILE *out);

/* The few that most need: one line each. */
void run_options_help_short(FILE *out);
