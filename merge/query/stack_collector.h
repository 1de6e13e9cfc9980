/* SPDX-License-Identifier: MIT */
/*
 * The tree that query_stacks() is made of: one walk of a profile's call paths, with a frame for
 * each line of a function, and what each node weighs.
 *
 * Call paths in which the same is shown become one node. The profile, and what the collector is
 * given, must outlive it. One thread at a time.
 */
#pragma once

#include "merge/query/query_stacks.h"
#include "merge/scope/keys.h"
#include "merge/scope/op_frames.h"
#include "merge/scope/scope.h"
#include "merge/table/paths.h"

/*
 * Nodes and frames while they are collected. Both are pairs of numbers: a node is one of a caller
 * and a frame, a frame one of the keys of its function and its line.
 */
struct stack_collector {
	const struct profile *profile;
	const struct scope *scope;
	const struct keys *keys;
	struct op_frames shown;
	const struct query *query;
	struct paths frames, nodes;
	struct stack_weight *weights; /* [node - 1] */
	size_t weight_capacity;
	/* [path node - 1]: the node of its innermost frame, of the frame that its ops stand in, and
	   of the one that its own time belongs to (0: it is the thread's) */
	uint32_t *inner, *caller, *owner;
	uint32_t homeless; /* key */
};

/* QUERY is of functions (BY_FUNCTION). False if there is no memory; it may be ended all the same.
 */
bool stack_collector_init(struct stack_collector *c, const struct scope *scope, struct keys *keys,
                          const struct query *query);
void stack_collector_fini(struct stack_collector *c);

static inline void stack_collector_at_scope_end(struct stack_collector *c)
{
	stack_collector_fini(c);
}

/* Collects the nodes, in the order of the walk, and all that they weigh; -1 on error. */
int stack_collector_run(struct stack_collector *c, struct error *err);
