/* SPDX-License-Identifier: MIT */
/*
 * All stacks of a profile, as a tree for each thread, with what each of them weighs: what other
 * programs' formats are made of.
 *
 * Frames are those that the report shows: without what is hidden, with ops at their places. Nodes
 * are in the order of a walk: a caller before its callees, what is below one node right behind it,
 * and one thread after the other; nodes in which there is nothing are left out. The weights of all
 * nodes sum to what query_run() says of the same query. The answer borrows its texts from the
 * profile, which must outlive it.
 */
#pragma once

#include "base/cleanup.h"
#include "merge/query/query.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct strings;

enum stacks_by {
	STACKS_BY_FUNCTION, /* one frame for each function: its line is where most of its time was
	                     */
	STACKS_BY_LINE      /* one for each line of it */
};

struct stack_frame {
	const char *name; /* never NULL */
	const char *file; /* where the line is; NULL if unknown */
	const char
		*declared;  /* the function's own file: inlined lines are in others; NULL if unknown
	                     */
	const char *module; /* NULL if it has none */
	int line;           /* 0 if unknown */
	uint32_t function;  /* the same for all lines of a function; from 1 */
	bool kernel, inlined, python;
	bool called, op, gil; /* as in struct call_node */
};

/* Its roots' own frame. */
struct stack_thread {
	const char *name, *process; /* never NULL */
	uint32_t tid, pid;          /* of the first one that is in here */
	uint32_t slot;              /* of the thread, as in struct account */
	uint32_t process_slot;
	bool is_main;              /* the first thread of its process */
	uint64_t begin_ns, end_ns; /* of its life, since the start of the run */
	size_t first, end;         /* its nodes: from the one up to, but without, the other */
};

struct stack_weight {
	uint64_t ns[METRIC_COUNT];
	uint32_t samples[METRIC_COUNT]; /* waits, where they were not sampled */
	uint64_t gpu_ns;                /* what it launched ran so long on GPUs */
	uint64_t allocated_bytes;
};

#define STACK_NO_CALLER SIZE_MAX

struct stack_node {
	size_t caller;  /* index; STACK_NO_CALLER: the node is a thread, and has no frame */
	uint32_t frame; /* index; of a thread: its own */
	uint32_t depth; /* frames from the thread to this one: 0 for the thread itself */
	struct stack_weight self;
};

struct stacks {
	struct stack_node *nodes;
	size_t count;
	struct stack_frame *frames;
	size_t frame_count;
	uint32_t function_count;
	struct stack_thread *threads;
	size_t thread_count;
	uint32_t depth; /* of the deepest node */
	struct stack_weight all;
	bool bytes_left_out; /* allocations are not kept by time: in a window none are reported */
	size_t *owners;      /* [path node - 1]: the node that has its own time; for merge/ alone */
	struct strings *texts;
};

/* BY of QUERY is not looked at; memory is that of the threads it chooses. NULL on error. */
struct stacks *query_stacks(const struct profile *p, const struct query *query, enum stacks_by by,
                            struct error *err);
void stacks_free(struct stacks *stacks);

CLEANUP(stacks, struct stacks *, stacks_free)

/* The time of WEIGHT on a CPU, and that of waiting; samples of both. */
static inline uint64_t stack_weight_on_cpu(const struct stack_weight *weight)
{
	return weight->ns[METRIC_ON_CPU];
}

uint64_t stack_weight_off_cpu(const struct stack_weight *weight);
uint64_t stack_weight_samples(const struct stack_weight *weight);
