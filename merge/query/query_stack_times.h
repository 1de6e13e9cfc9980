/* SPDX-License-Identifier: MIT */
/*
 * When the stacks of query_stacks() had their time: in bins over the run, as fine as times are
 * kept, or as many of these in one as it takes to stay below a number.
 *
 * What a node has in all bins is what stacks says of it, to the nanosecond.
 */
#pragma once

#include "base/cleanup.h"
#include "merge/query/query_stacks.h"

struct stack_part {
	size_t node;     /* index */
	uint32_t thread; /* the same, of the thread that it is of */
	uint32_t bin;
	enum metric metric;
	uint64_t ns;
};

struct stack_times {
	struct stack_part *parts; /* by thread, bin, node and metric; none without time */
	size_t count;
	uint64_t bin_ns;
	int64_t origin_ns; /* where bin 0 begins, since the start of the run */
};

/* QUERY is the one that STACKS was asked with. At most PARTS_MAX parts, if one bin allows it. NULL
   on error. */
struct stack_times *query_stack_times(const struct profile *p, const struct query *query,
                                      const struct stacks *stacks, size_t parts_max,
                                      struct error *err);
void stack_times_free(struct stack_times *times);

CLEANUP(stack_times, struct stack_times *, stack_times_free)
