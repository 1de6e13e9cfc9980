/* SPDX-License-Identifier: MIT */
/*
 * Questions about ops and about memory.
 *
 * Calls, total, self, first, minimum and maximum are exact, from the intervals.
 * Quartiles come from a histogram whose buckets are less than one percent wide.
 * An op that is open within itself counts once in the total of its row; by domain,
 * one that lies right within another of its domain is not counted again.
 *
 * In a window, which is as fine as the bins that times are kept in, there are no
 * durations of single calls and no bytes: those are 0. By op and by shape, of all threads, calls
 * and times are exact in a window, too, if every call of the op is in a series
 * (merge/table/series.h), and there are durations where those in the window are kept one by one.
 * Who called the caller (by stack, from the second frame on) is not told by the intervals, but by
 * what most samples have that hold the op in that function: " < ~" stands where some had other
 * callers, " < ?" where there was no sample. Those of PyTorch's ops in Python are exact, and of the
 * backward pass they are those of the forward pass. Sampled times of an op that has several rows
 * are not known by shape or by stack: those are 0. By module, self is that of all ops that the
 * module has called itself, in the forward pass and the backward pass, total that of those of the
 * modules within it, too; by line, total is self. There are no durations. Answers borrow their
 * texts from the profile, which must outlive them.
 *
 * As one kind of ops: what an op's own profiler does not know of (BLAS, ITT) within it is its self
 * time. By op and by thread that is exact where those have one caller; else, and by shape, stack,
 * line and module, it goes to the callers by the time that each took.
 */
#pragma once

#include "base/cleanup.h"
#include "base/provider.h"
#include "merge/profile/profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct strings;

enum op_by {
	OPS_BY_OP,     /* provider, domain and name */
	OPS_BY_SHAPE,  /* and what it was done on */
	OPS_BY_STACK,  /* and the innermost STACK_FRAMES callers */
	OPS_BY_DOMAIN, /* domain, or provider where there is none */
	OPS_BY_THREAD, /* op and thread */
	OPS_BY_MODULE, /* torch.nn.Module */
	OPS_BY_LINE    /* the user's own line that calls them */
};

enum op_sort {
	OPS_SORT_SELF,
	OPS_SORT_TOTAL,
	OPS_SORT_CALLS,
	OPS_SORT_MEMORY, /* bytes allocated by itself */
	OPS_SORT_FLOPS,
	OPS_SORT_AVERAGE,
	OPS_SORT_MEMORY_TOTAL, /* the same with callees */
	OPS_SORT_NET,          /* bytes allocated less those freed, by itself … */
	OPS_SORT_NET_TOTAL,    /* … and with callees */
	OPS_SORT_GPU_MEMORY,   /* the same of GPUs */
	OPS_SORT_GPU_MEMORY_TOTAL,
	OPS_SORT_GPU /* not by module or line: there it is not known */
};

struct op_query {
	enum op_by by;
	enum op_sort sort;
	uint32_t stack_frames;   /* OPS_BY_STACK; 1: the line that called it */
	const char *thread;      /* only threads of this name or tid; NULL: all */
	const char *process;     /* only processes of this name or pid; NULL: all */
	enum op_provider as;     /* only ops of this kind, as its own profiler has them: the time of
	                            others within them is theirs; 0: all ops, each with its own */
	const char *of;          /* shares are of the time in ops whose names match this glob; NULL:
	                            of the threads' time */
	uint64_t from_ns, to_ns; /* ops that began in this window since the start; to_ns 0: all */
};

struct op_row {
	const char *name;     /* never NULL; by domain: the domain; by module: its way */
	const char *provider; /* "nvtx", "blas" …; "" by domain, where several have it */
	const char *domain;   /* "" if none */
	const char *shape;    /* "[256, 128, 300]"; "" if none, or not asked for */
	const char *stack;    /* "step (train.c:12) < main (train.c:80)"; "" if not asked for */
	const char *file;     /* where it is called from, most of its time; NULL if unknown */
	int line;
	bool label;                    /* a name of the program's own, see base/op.h */
	bool backward;                 /* that has called what it is the derivative of */
	const char *function, *module; /* of that place; NULL if unknown */
	const char *thread;            /* by thread; else NULL */
	uint32_t tid;
	uint64_t calls;
	uint64_t untimed;   /* of them, those whose times are known in sum only */
	uint64_t timeless;  /* of those, the ones of which no time is known */
	uint64_t left_open; /* of them, those that had not ended */
	/* Of them, those that were not recorded: then calls, times, bytes and FLOPs are estimates,
	   and of calls and total_ns these are the standard errors, at most. 0 in a window. */
	uint64_t unseen, calls_error, total_error_ns;
	uint64_t marks; /* instants, not in calls */
	uint64_t self_ns, total_ns;
	uint64_t others_ns;  /* of self_ns, in ops that are not of the kind asked for by AS */
	uint64_t average_ns; /* of all calls whose time is known, those within themselves, too */
	uint64_t first_ns;   /* how long the first call took; 0 if unknown */
	uint64_t min_ns, max_ns, median_ns, q1_ns, q3_ns; /* of the timed calls */
	uint64_t allocated_bytes, self_allocated_bytes;
	int64_t net_bytes, self_net_bytes; /* allocated less freed */
	struct op_device_bytes devices;    /* the same of GPUs */
	uint64_t flops;                    /* 0 if unknown */
	uint64_t message_bytes;            /* that calls of MPI have moved */
	uint64_t gpu_ns;                   /* what was launched within it ran so long on GPUs */
	uint64_t sampled_ns;               /* on-CPU and off-CPU time of stacks that hold the op */
	uint64_t sampled_self_ns;          /* and none within it */
};

struct op_rows {
	struct op_row *rows;
	size_t count;
	struct strings *texts; /* what the rows say and the profile does not hold */
	uint64_t wall_ns;      /* of all threads that had ops, or of the ops asked for: what shares
	                          are shares of */
	uint64_t calls;        /* of all rows */
	uint64_t folded;  /* calls of the run whose shape, or caller, could not be kept apart */
	uint64_t lost;    /* calls of the run that are in no row */
	uint64_t blurred; /* calls of the run whose durations are kept as similar ones, or not at
	                     all */
};

/* All rows, best first. NULL on error. */
struct op_rows *query_ops(const struct profile *p, const struct op_query *query, struct error *err);
void op_rows_free(struct op_rows *rows);

CLEANUP(op_rows, struct op_rows *, op_rows_free)

/* How many ops that were recorded a call of ROW, by op, holds at any depth, on average. */
double query_ops_within(const struct profile *p, const struct op_row *row, struct error *err);

/*
 * Where memory was allocated, by sampled allocations; bytes are estimates, totals exact. What
 * malloc and operator new allocate is their callers'. By op: the innermost one that was open.
 */
enum memory_by {
	MEMORY_BY_FUNCTION,
	MEMORY_BY_LINE,
	MEMORY_BY_MODULE,
	MEMORY_BY_OP
};

struct memory_row {
	const char *name; /* never NULL */
	const char *file; /* NULL if unknown */
	int line;
	const char *module;                              /* NULL if none */
	uint64_t allocated_bytes, total_allocated_bytes; /* by itself; with what it calls */
	uint64_t live_at_peak_bytes, live_at_end_bytes;  /* by itself */
	uint64_t samples;                                /* of allocated_bytes */
	double margin; /* half width of the 95 % interval of allocated_bytes' share */
};

struct memory_rows {
	struct memory_row *rows;
	size_t count;
	struct strings *texts; /* what the rows say and the profile does not hold */
	uint64_t allocations, frees, allocated_bytes, freed_bytes;
	/* Half of their 95 % intervals; 0: exact. */
	uint64_t allocations_margin, allocated_margin_bytes;
	uint64_t peak_bytes, peak_ns; /* most bytes that were live, and when since the start */
	uint64_t end_bytes; /* live at the end, of what each process has allocated itself */
	uint64_t samples;
	uint64_t untracked_bytes; /* of allocated ones: in no row's live bytes, for they were too
	                             many */
	uint64_t lost;            /* samples that are in no row */
};

/* What is not known of memory; all by samples. */
struct memory_doubts {
	uint64_t allocations, allocations_margin; /* 0: all were counted */
	uint64_t sampled_bytes, untracked_bytes;
	uint64_t samples, lost;
};
void query_memory_doubts(const struct profile *p, struct memory_doubts *out);

/* Rows by allocated bytes, or by live bytes at the peak. NULL on error. */
struct memory_rows *query_memory(const struct profile *p, enum memory_by by, bool at_peak,
                                 struct error *err);
void memory_rows_free(struct memory_rows *rows);

CLEANUP(memory_rows, struct memory_rows *, memory_rows_free)
