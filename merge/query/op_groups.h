/* SPDX-License-Identifier: MIT */
/*
 * The entries of the op table that a question about ops is about, put together to the groups that
 * rows are made of: by op, shape, stack, domain, thread, module or line, in a window. For the files
 * of merge/ alone.
 *
 * In a window bins tell what each entry has, and series, which know when each call began, correct
 * that where they hold all calls of a group.
 */
#pragma once

#include "base/hash.h"
#include "base/op.h"
#include "merge/numbers/histogram.h"
#include "merge/op/op_table.h"
#include "merge/query/op_callers.h"
#include "merge/query/query_ops.h"
#include "merge/scope/scope.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The entries that one row is made of. */
struct op_group {
	uint32_t op;     /* 0 by domain */
	uint32_t thread; /* slot; 0 unless by thread */
	uint32_t text;   /* of the shape, stack or domain; 0 by op and by thread */
	bool mixed;      /* by domain: of several providers */
	enum op_provider provider;
	struct op_sums sums;
	struct histogram durations;
	uint64_t first_begin_ns, first_ns, min_ns, max_ns;
	uint32_t caller; /* location, of most of its time; 0: unknown */
	bool forward;    /* that has called what it is the derivative of */
	uint64_t caller_ns;
	bool caller_own; /* it is in the user's own code */
};

/* What one line has called, of one group. */
struct op_called {
	uint32_t group, caller;
	bool forward; /* CALLER has called what it is the derivative of */
	uint64_t ns;
};

struct op_groups {
	const struct profile *profile;
	const struct op_query *query;
	struct scope scope;
	struct op_callers callers;
	struct strings *texts;
	struct op_sums *sums;    /* [entry - 1]: in the window */
	struct op_group *groups; /* [id - 1] */
	uint32_t count;
	size_t capacity;
	struct hash index;
	struct op_called *called;
	size_t called_count;
};

/* Of P; QUERY and TEXTS, which gets what rows say and the profile does not hold, are borrowed. -1
   on error; whatever was begun is for op_groups_fini(). */
int op_groups_init(struct op_groups *a, const struct profile *p, const struct op_query *query,
                   struct strings *texts, struct error *err);
void op_groups_fini(struct op_groups *a);

static inline void op_groups_at_scope_end(struct op_groups *a)
{
	op_groups_fini(a);
}

/* Makes the groups of all entries. False if there is no memory. */
bool op_groups_make(struct op_groups *a);

/* The id of what has the op, thread and text of WANTED; 0 if nothing does. */
uint32_t op_groups_find(const struct op_groups *a, const struct op_group *wanted);

bool op_groups_is_windowed(const struct op_groups *a);

/* Whether rows are of all ops that are called in one place. */
bool op_groups_is_by_place(const struct op_groups *a);
