/* SPDX-License-Identifier: MIT */
/*
 * The options of "bottleneck run".
 */
#pragma once

#include "base/provider.h"
#include "cli/option.h"
#include "cli/report/view.h"

#include <stdbool.h>
#include <stdint.h>

struct error;

struct run_options {
	uint32_t frequency_hz;
	uint32_t stack_bytes;
	int unwinder; /* enum unwinder_kind */
	int rung;     /* enum rung less 1 */
	bool no_off_cpu;
	uint64_t delay_ns, duration_ns; /* 0: none */
	const char *range;              /* glob; NULL: none */
	bool start_paused;
	uint32_t timeline_limit; /* slices; 0: none */
	double budget_percent;   /* 0: no limit */
	bool no_agent;
	bool no_ops;
	bool off[OP_PROVIDERS_ALL]; /* by enum op_provider: the option that switches it off is given
	                             */
	bool gpu_lines, gpu_graph_nodes;
	int gpu_callsites; /* enum protocol_launches of tracer/protocol.h */
	bool count_calls;
	struct option_list trace;
	const char *output;      /* NULL: the last run's place; a pattern of cli/file_name.h */
	const char *report_file; /* NULL: stderr; a pattern, too */
	const char *ranks;       /* NULL: all; a list of cli/rank.h */
	bool no_report;
	bool debuginfod;
	bool version;
	struct view view;
	char **argv; /* the program and its arguments */
};

/* Fills OPTIONS from ARGV (argv[0] is skipped). -1 with one line in ERR. */
int run_options_parse(struct run_options *options, int argc, char **argv, struct error *err);

/* The providers of ops that are wanted: bits 1 << enum op_provider. */
uint32_t run_options_ops(const struct run_options *options);

/* What is wanted of GPUs: bits, enum protocol_gpu of tracer/protocol.h. */
uint32_t run_options_gpu(const struct run_options *options);

/* Whether allocations are looked at. */
bool run_options_malloc(const struct run_options *options);

/* Whether waits for locks and other threads are. */
bool run_options_waits(const struct run_options *options);

/* Whether the cycles of a schedule alone are recorded: the steps are known by the name of their op.
 */
static inline bool run_options_schedule(const struct run_options *options)
{
	return options->view.schedule && options->view.steps;
}

/* Prints the groups for --help. */
void run_options_help(FILE *out);
