/* SPDX-License-Identifier: MIT */
/*
 * Questions to a profile: ranked rows, call trees, the accounting of a thread.
 *
 * Self and total are summed recursion-safe: a function that is on a path twice
 * counts once in its total, so no total exceeds its parent's. Answers borrow
 * their texts from the profile, which must outlive them.
 */
#pragma once

#include "base/cleanup.h"
#include "base/metric.h"
#include "base/origin.h"
#include "merge/profile/profile.h"
#include "merge/scope/selection.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct row {
	const char *name; /* function, file, module, thread or process name; never NULL */
	const char *file; /* where it is (function: where most of its self, or else total, time was
	                     spent); NULL if unknown */
	int line;         /* 0 if unknown */
	const char *module; /* NULL if it has none */
	bool kernel, inlined, python;
	bool called;    /* a C function, by the name that Python has for it */
	bool gil;       /* NAME stands for waiting for the lock of Python's interpreter */
	uint32_t id;    /* tid or pid by thread or process */
	uint64_t calls; /* of a Python function, or one that Python calls, by BY_FUNCTION; 0: not
	                   counted, or in a window */
	uint64_t recursive; /* of them, made while the function was open in its thread */
	uint64_t self_ns[METRIC_COUNT]; /* all of it, also what was not asked for */
	uint64_t total_ns[METRIC_COUNT];
	uint64_t self, total;                 /* what was asked for: what rows are ranked by */
	uint64_t gpu_self_ns, gpu_total_ns;   /* what it has launched ran so long, itself and with
	                                         what it called: beside the time that was asked for */
	uint64_t wall_self_ns, wall_total_ns; /* of the run's wall time, without waiting for a free
	                                         CPU: query.with_wall, else 0 */
	uint64_t self_samples, total_samples;
	double self_margin; /* half width of the 95 % Wilson interval of self's share of all time,
	                       in points of 1.0; 0 if the time is exact */
	bool tied; /* its interval overlaps the next row's; not by GPU time, which is exact */
};

struct rows {
	struct row *rows;
	size_t count;
	uint64_t all;         /* the time that shares are shares of */
	uint64_t gpu_all_ns;  /* the same of GPU time: gpu_self_ns of all rows */
	uint64_t wall_all_ns; /* wall time, with waiting for a free CPU; 0: not known */
	uint64_t idle_ns;     /* that was left out, as idle threads of libraries had it */
	uint64_t all_samples;
};

/* What rows are in the order of, if they are sorted so. */
static inline uint64_t query_rank(const struct row *row, enum query_sort sort)
{
	switch (sort) {
	case SORT_TOTAL:
		return row->total;
	case SORT_CALLS:
		return row->calls;
	case SORT_GPU_SELF:
		return row->gpu_self_ns;
	case SORT_GPU_TOTAL:
		return row->gpu_total_ns;
	case SORT_WALL:
		return row->wall_self_ns;
	case SORT_WALL_TOTAL:
		return row->wall_total_ns;
	default:
		return row->self;
	}
}

/* Whether process PID runs the program of its parent, which has forked it and is one of the run. */
bool query_is_fork(const struct profile *p, uint32_t pid);

/* How many processes of the run were PROGRAM, of so many bytes, last: also those of which nothing
   was sampled. */
uint32_t query_runs_of(const struct profile *p, const char *program, size_t length);

/* All rows, best first. NULL on error. */
struct rows *query_run(const struct profile *p, const struct query *query, struct error *err);
void rows_free(struct rows *rows);

CLEANUP(rows, struct rows *, rows_free)

/*
 * A node of the call tree by function, children by total, largest first. An op stands between the
 * function that has begun it and what ran since: what that function has called, what is inlined
 * there, and what it did itself, which is the op's own time.
 */
struct call_node {
	const char *name, *file, *module;
	int line;      /* of it, in which most was spent; 0 if unknown */
	int call_line; /* of its caller's file, where that calls it; 0 if unknown */
	bool kernel, inlined, python;
	bool called; /* as in struct row */
	bool op;     /* NAME is that of an op, which has no file, line or module */
	bool gil;    /* as in struct row */
	uint64_t self, total;
	uint64_t samples; /* of total */
	struct call_node *child, *next;
};

/* The tree below one root ("all"). Nodes under MIN_SHARE of all are left out. */
struct call_tree *query_call_tree(const struct profile *p, const struct query *query,
                                  double min_share, struct error *err);
const struct call_node *call_tree_root(const struct call_tree *tree);
void call_tree_free(struct call_tree *tree);

CLEANUP(call_tree, struct call_tree *, call_tree_free)

/* Where the lifetime of one thread went; the parts sum to lifetime_ns exactly. */
struct account {
	const char *thread, *process; /* names */
	uint32_t tid, pid;
	uint32_t slot; /* of the thread, for the files of merge/ */
	bool is_main;  /* the first thread of the first process */
	bool exact;    /* from scheduler records, not from samples */
	uint64_t lifetime_ns;
	uint64_t ns[METRIC_COUNT];
	uint64_t kernel_ns;                  /* of ns[METRIC_ON_CPU] */
	uint64_t gil_held_ns, gil_waited_ns; /* Python's lock; held: an estimate */
	uint64_t gil_all_waited_ns;          /* by all threads */
	/* Held by the threads of one process in turns: of the one whose threads waited for longest.
	 */
	uint64_t gil_turns_ns;
};

/*
 * The critical thread: the first thread of the first process, unless it waited
 * for locks or children for more than half of its life and another thread that
 * lived for at least half of the run was longer on a CPU. If that one was on a CPU for less than 5
 * % of its life, it is the thread that the first one waited for longest, where that is known and
 * that one has lived as long.
 */
int query_account(const struct profile *p, struct account *account, struct error *err);

/*
 * The same of a window, as in struct query: as fine as the bins that times are kept in, and
 * without what is known of whole threads alone (Python's lock).
 */
int query_account_in(const struct profile *p, uint64_t from_ns, uint64_t to_ns,
                     struct account *account, struct error *err);

/* Debug information per module, for the limits; most time first. */
struct module_row {
	const char *path;
	uint64_t self_ns;            /* of all threads, on a CPU and waiting */
	uint64_t part_ns;            /* on CPUs, of what shares are of: see all_ns */
	int level;                   /* enum debug_level */
	const char *reason, *remedy; /* "" if none */
};
struct module_rows {
	struct module_row *rows;
	size_t count;
	/* What shares are of, as everywhere where one place of the run is weighed: wall time where
	   that ranks code (query_wall_share_ns()), else the CPU time of all threads. */
	uint64_t all_ns;
	const char *of; /* that in words: "wall time" */
};
struct module_rows *query_modules(const struct profile *p, struct error *err);
void module_rows_free(struct module_rows *rows);

CLEANUP(module_rows, struct module_rows *, module_rows_free)

/*
 * Whether MODULE is a Python interpreter in a RUN with processes that had no agent: the agent, not
 * debug symbols, brings the names of its Python functions. MODULE may be NULL.
 */
static inline bool query_lacks_agent(const struct run *run, const char *module)
{
	return run->agentless_processes && origin_is_python(module);
}

/* Totals for the header and the limits. */
struct totals {
	uint32_t processes, threads;
	uint64_t on_cpu_ns, off_cpu_ns;
	uint64_t runnable_ns;     /* of off_cpu_ns, waiting for a free CPU */
	uint64_t callless_ns;     /* kernel time of which nobody knows for whom it was */
	uint64_t folded_ns;       /* time that was folded into callers to keep the tree small */
	uint64_t bin_ns;          /* width of a time bin */
	uint64_t lost_events;     /* that the profile found no memory, or no thread, for */
	uint64_t lost_ns;         /* what they weighed */
	uint64_t counters;        /* processes that have counted calls of Python functions */
	uint64_t uncounted;       /* of them, those that have not told all */
	uint64_t timeless;        /* calls of ops of which no time is known */
	uint64_t slices;          /* single calls, waits and works: merge/query/query_slices.h */
	uint64_t slices_dropped;  /* the same, beyond the limit of the run */
	uint64_t slices_until_ns; /* since the start; what ended before that was not dropped */
};
void query_totals(const struct profile *p, struct totals *totals);

/* CPU time of all threads in a window. */
uint64_t query_on_cpu_ns(const struct profile *p, uint64_t from_ns, uint64_t to_ns);
