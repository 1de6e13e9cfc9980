/* SPDX-License-Identifier: MIT */
/*
 * A profile made by hand: the answers that the report asks for, without the
 * folders that work them out. It defines the functions of merge/query/query.h and
 * merge/query/query_ops.h that the report calls, so a test links either this or merge/.
 */
#pragma once

#include "merge/query/query.h"
#include "merge/query/query_called.h"
#include "merge/query/query_causes.h"
#include "merge/query/query_clock.h"
#include "merge/query/query_contention.h"
#include "merge/query/query_counters.h"
#include "merge/query/query_curves.h"
#include "merge/query/query_cycles.h"
#include "merge/query/query_devices.h"
#include "merge/query/query_excess.h"
#include "merge/query/query_gpu.h"
#include "merge/query/query_gpu_lines.h"
#include "merge/query/query_imports.h"
#include "merge/query/query_loops.h"
#include "merge/query/query_ops.h"
#include "merge/query/query_ranks.h"
#include "merge/query/query_repeats.h"
#include "merge/query/query_startup.h"
#include "merge/query/query_step_parts.h"
#include "merge/query/query_steps.h"
#include "merge/query/query_waits.h"
#include "merge/query/query_wall.h"
#include "merge/query/query_warmup.h"
#include "merge/query/query_workers.h"
#include "merge/rules/compiling.h"
#include "merge/rules/finding.h"
#include "merge/rules/price.h"

struct profile {
	struct run run;
	struct totals totals;
	struct account account;
	struct contention_answer
		contention;          /* where it is throttled; else it follows from the rest */
	const struct row *functions; /* best self first; answers for BY_FUNCTION */
	size_t function_count;
	const struct called *called; /* functions whose calls were counted */
	size_t called_count;
	const struct called_edge *called_edges;
	size_t called_edge_count;
	const struct row *lines; /* answers for BY_LINE */
	size_t line_count;
	const struct row *others; /* answers for everything else */
	size_t other_count;
	uint32_t program_runs; /* of each program */
	uint64_t all;
	uint64_t whole_place_ns;     /* the highest price of any place; 0: not known */
	struct call_node *tree;      /* children of the root, on a CPU */
	struct call_node *wait_tree; /* the same for waiting; NULL: none */
	const struct module_row *modules;
	size_t module_count;
	const struct op_row *ops;
	size_t op_count;
	unsigned op_threads; /* that shares of ops are of; 0: one */
	struct counter_rows counters;
	struct device_rows devices;
	struct gpu_rows gpu;
	struct gpu_facts gpu_facts;
	struct gpu_wait gpu_wait;
	struct gpu_stream_rows gpu_streams;
	struct gpu_line_rows gpu_lines;
	struct warmup_rows warmup;
	struct startup startup;
	struct causes causes;
	struct clock_change rise, fall;     /* all 0: none */
	struct steps steps;                 /* of the whole run */
	const struct step_excess *excesses; /* STEP_EXCESSES of them for each step; NULL: none */
	struct cycles cycles;
	uint64_t unplaced_ns;                /* of waits */
	const struct step_parts *step_parts; /* of each step; NULL: unknown */
	struct wait_rows waits;
	struct parallel parallel;
	struct wall_account wall;
	struct wall_rank wall_rank; /* none unless it is numbered */
	struct memory_rows memory;
	struct memory_curves curves;
	struct memory_doubts doubts;
	struct import_rows imports;
	struct compiling compiling;
	struct workers workers;
	struct rank_rows ranks; /* of a merged profile */
	struct repeat_rows repeats;
	struct nameless_loop loop;
	const struct repeat *repeat_runs;
	size_t repeat_run_count;
	struct spread ratio; /* of the second side to the first */
	struct finding findings[4];
	size_t finding_count, findings_shown;
	uint64_t findings_from_ns;
	struct query asked; /* the last query_run() */
	struct op_query ops_asked;
	enum memory_by memory_asked;
};

/* A busy program with inlines, kernel time, lock waits and a library without lines. */
struct profile *fake_profile(void);

/* The same with imports of Python's. */
struct profile *fake_profile_with_imports(void);

/* The same with calls that began slowly, or otherwise are what VERDICT says. */
struct profile *fake_profile_with_warmup(enum warmup_verdict verdict);

/* The same with findings. */
struct profile *fake_profile_with_findings(void);

/* The same with steps, of which some are slow. */
struct profile *fake_profile_with_steps(void);

/* The same with what functions, lines and ops have launched, and with streams. */
struct profile *fake_profile_with_gpu(void);

/* The same, merged of COUNT ranks, of which rank 1 holds the others up. */
struct profile *fake_profile_of_ranks(size_t count);

/* Runs of two commands in turns, and nothing else; of the first alone. */
struct profile *fake_profile_of_repeats(bool pair);

/* The same with ops, in the call tree too, with counters, and with memory. */
struct profile *fake_profile_with_ops(void);
