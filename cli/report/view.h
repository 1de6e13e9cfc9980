/* SPDX-License-Identifier: MIT */
/*
 * Which part of a profile is shown, and how: the options that run and report share, and diff where
 * it compares parts.
 */
#pragma once

#include "cli/option.h"
#include "cli/report/display.h"
#include "merge/query/query.h"
#include "merge/query/query_ops.h"

#include <stdbool.h>
#include <stdint.h>

enum view_sort {
	VIEW_SORT_NONE = -1,
	VIEW_SORT_SELF,
	VIEW_SORT_TOTAL,
	VIEW_SORT_LINE,
	VIEW_SORT_CALLS, /* of functions, where these are asked for; else, and those that follow,
	                    of ops, but for memory and GPUs */
	VIEW_SORT_MEMORY,
	VIEW_SORT_FLOPS,
	VIEW_SORT_AVERAGE,
	VIEW_SORT_MEMORY_TOTAL, /* these: of ops */
	VIEW_SORT_NET,
	VIEW_SORT_NET_TOTAL,
	VIEW_SORT_GPU_NET,
	VIEW_SORT_GPU_NET_TOTAL,
	VIEW_SORT_GPU,       /* of functions and the like by what they launched themselves … */
	VIEW_SORT_GPU_TOTAL, /* … and with what they call */
	VIEW_SORT_WALL       /* by what the end of the run waited for */
};

/* What has one row. Those of samples are enum query_by, to BY_PROCESS. */
enum view_by {
	VIEW_BY_NONE = -1,
	VIEW_BY_OP = BY_PROCESS + 1,
	VIEW_BY_SHAPE,
	VIEW_BY_STACK,
	VIEW_BY_DOMAIN,
	VIEW_BY_STREAM, /* these: of GPUs */
	VIEW_BY_KERNEL
};

/* As another tool shows it. */
enum view_as {
	VIEW_AS_NONE = -1,
	VIEW_AS_CPROFILE, /* and its callers and callees */
	VIEW_AS_CALLERS,
	VIEW_AS_CALLEES
};

/* Parts of a run: see merge/query/query_startup.h and merge/query/query_warmup.h. */
enum view_phase {
	PHASE_ALL,
	PHASE_STARTUP,
	PHASE_WARMUP,
	PHASE_STEADY
};

/* Why a part of the run that was asked for could not be cut out: then all of it is shown. */
enum view_miss {
	MISS_NONE,
	MISS_STARTUP, /* no start was seen */
	MISS_WARMUP,  /* no warm-up was found */
	MISS_STEPS,   /* no steps were */
	MISS_REST,    /* there are no more steps than are to be skipped */
	MISS_CYCLES,  /* the schedule has no cycle in the run */
	MISS_CYCLE    /* there are fewer cycles than that */
};

/* Which table the options name. */
enum view_table {
	VIEW_TABLE_NONE, /* the whole report, or the call tree alone */
	VIEW_TABLE_FUNCTIONS,
	VIEW_TABLE_CALLED, /* functions by their calls, in cProfile's form */
	VIEW_TABLE_LINES,
	VIEW_TABLE_OWNERS, /* threads or processes */
	VIEW_TABLE_OPS,
	VIEW_TABLE_MEMORY,
	VIEW_TABLE_GPU, /* who launched what ran there */
	VIEW_TABLE_STREAMS,
	VIEW_TABLE_KERNELS, /* and copies */
	VIEW_TABLE_WAITS,
	VIEW_TABLE_ENVIRONMENT
};

struct view {
	int sort;                 /* enum view_sort; NONE: the whole report */
	struct option_counted by; /* enum view_by, enum query_by; how many callers */
	bool ops;
	/* The provider whose own profiler's view of ops is shown, or a form of view_as(); NULL:
	 * none */
	const char *as;
	const char *of; /* glob: shares of ops are of the time in these; NULL: of threads' time */
	bool waits, environment;
	uint32_t top;
	double min_percent; /* negative: not asked for, see view_min_share() */
	bool call_tree;
	bool interpreter;
	bool source; /* source text of files that need not be what was recorded, too */
	bool shared; /* new files are for others, too, as the umask says */
	const char *thread, *process, *hide, *user_code; /* as in struct query */
	uint64_t from_ns, to_ns;
	bool from_steady;     /* from_ns is to be where the warm-up ends */
	int phase;            /* enum view_phase: that alone */
	uint32_t skip_first;  /* steps; 0: none */
	const char *steps;    /* glob: the op whose calls they are; NULL: auto-detected */
	const char *schedule; /* of steps, as schedule_parse() takes it: a table for each cycle;
	                         NULL: none, or the recorded one */
	uint32_t cycle;       /* of the schedule, from 1: that alone; 0: all */
	bool resolved;        /* by cut_resolve(), which fills in from_ns, to_ns and miss */
	enum view_miss miss;
	bool on_cpu, off_cpu;
	struct display display;
	bool quiet, verbose;
	bool brief; /* one screen: the answer last, and of each table its first rows */
	struct option_list rules;   /* thresholds: "ID=VALUE" */
	const char *rules_file;     /* the same, one a line; NULL: none */
	struct option_list fail_on; /* ids of rules, severities */
	bool strict;
	struct option_list exports; /* "FORMAT[=FILE]": see cli/export/exports.h */
	const char *table;          /* the only one to export; NULL: all */
	uint32_t max_events;        /* of a timeline that is exported; 0: all */
	const char *base;           /* a profile to compare with in a page; NULL: none */
};

#define VIEW_TOP_DEFAULT    15
#define VIEW_TOP_BRIEF      5
#define VIEW_EVENTS_DEFAULT 400000
#define VIEW_FRAMES_DEFAULT 3 /* callers of --by stack */

/* What is shown if nobody asks for something else. */
struct view view_default(void);

/* A report of one screen, with as many rows as VIEW asks for, or else VIEW_TOP_BRIEF. */
void view_make_brief(struct view *view);

/*
 * The options of struct view, beside those of its display: what is shown, and of which part of a
 * run.
 */
struct option_group view_options(struct view *view);
struct option_group view_part_options(struct view *view);

/* The question that VIEW asks, less its table: by and sort are the caller's. */
struct query view_query(const struct view *view, enum query_by by, enum query_sort sort);

enum view_table view_table(const struct view *view);

/* The form of another tool in which counted calls are shown. */
enum view_as view_as(const struct view *view);

/* The same about ops and about memory. */
struct op_query view_op_query(const struct view *view);
enum memory_by view_memory_by(const struct view *view);

/* The least share of a row, 0 to 1: a tree has many more of them than a table. */
double view_min_share(const struct view *view, bool tree);

/* True if VIEW leaves anything out of the run: then the verdict on all of it is not shown. */
bool view_is_filtered(const struct view *view);

/* True if it leaves out a part of the run, and nothing of the rest. */
bool view_is_window(const struct view *view);

/* -1 with one line in ERR if the options contradict each other. */
int view_check(const struct view *view, struct error *err);
