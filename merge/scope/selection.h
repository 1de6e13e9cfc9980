/* SPDX-License-Identifier: MIT */
/*
 * What a question to a profile is about: which time, of which threads, in which window, by what it
 * is grouped and in which order. Plain values; the texts belong to who asks.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum query_by {
	BY_FUNCTION,
	BY_LINE,
	BY_MODULE,
	BY_FILE,
	BY_THREAD,
	BY_PROCESS
};
enum query_sort {
	SORT_SELF,
	SORT_TOTAL,
	SORT_CALLS,    /* of functions, where they were counted */
	SORT_GPU_SELF, /* what it has launched, see struct row */
	SORT_GPU_TOTAL,
	SORT_WALL, /* what the run waited for, see struct row; those without come by self */
	SORT_WALL_TOTAL
};

/* For user_code: what is named and no library's, see base/origin.h. */
#define QUERY_OWN_CODE "auto"

/* What time is asked for. */
enum query_of {
	QUERY_THREADS,   /* of threads, on a CPU and waiting */
	QUERY_GPU,       /* of GPUs, by who launched what ran there */
	QUERY_GPU_IDLE,  /* the same, by what the launching thread did while they had nothing to do
	                  */
	QUERY_WALL,      /* wall time, by what the end of the run waited for: merge/wall/wall.h */
	QUERY_ALLOCATED, /* no time, but bytes that were allocated, by sampled allocations of the
	                    whole run; a window is as good as none */
	QUERY_LIVE       /* the same, of those that were alive when most were */
};

struct query {
	enum query_of of; /* on_cpu, off_cpu and without_others are for threads and wall time */
	enum query_by by;
	enum query_sort sort;
	bool on_cpu, off_cpu; /* which time counts; both false: both */
	bool without_others; /* of both, not what others take: waiting for a free CPU, which may hit
	                        any function, for children, whose time is in them, and idle threads
	                        of libraries (merge/scope/idle.h) */
	bool with_wall;      /* of threads: rows have their wall time, too */
	bool keep_others;    /* rows that have such time alone are kept, by self and total of 0 */
	const char *thread;  /* only threads of this name or tid; NULL: all */
	const char *process; /* only processes of this name or pid; NULL: all */
	const char *hide;    /* leave frames of modules or functions that match this glob out: their
	                        self time goes to their caller; NULL: none */
	bool interpreter; /* Python's own code is shown; else its time is that of Python's functions
	                   */
	const char *user_code;   /* attribute self time to the innermost frame whose file or module
	                            matches this glob; QUERY_OWN_CODE; NULL: no */
	uint64_t from_ns, to_ns; /* window since the start of the run; to_ns 0: to the end */
	uint32_t gpu;            /* QUERY_GPU_IDLE: of this GPU alone, by its index + 1; 0: all */
};
