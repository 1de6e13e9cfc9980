/* SPDX-License-Identifier: MIT */
/*
 * The part of a profile that a query is about, ready to be walked.
 *
 *	struct scope s;
 *	scope_init(&s, profile, query, err);
 *	for (struct step step = scope_first(&s); step.node; step = scope_next(&s, step))
 *		step.entering ? ... : ...;
 *
 * Every node below the threads in question is entered once and left once,
 * callers around their callees. Nobody writes into a scope but scope_init(). For the files
 * of merge/ alone.
 */
#pragma once

#include "merge/profile/profile_parts.h"
#include "merge/scope/idle.h"
#include "merge/scope/selection.h"
#include "merge/table/cells.h"

struct error;

struct scope {
	const struct profile *profile;
	const struct cells *table; /* what is asked for: of threads, of GPUs, or of memory */
	struct cells bytes;        /* that of memory, made of its sites */
	bool metrics[METRIC_COUNT];
	bool whole_run;                  /* no window */
	bool *threads;                   /* [slot - 1]: asked for */
	uint32_t *first_child, *sibling; /* [node - 1] */
	uint32_t first_root;
	uint32_t *first_cell;        /* [node - 1]: index into cells; up to that of the next node */
	uint32_t *cells;             /* those of the window, by node: see scope_counts() */
	uint32_t first_bin, end_bin; /* the window */
	uint32_t gpu;                /* see struct query */
	bool *idle; /* [node - 1]: see merge/scope/idle.h; NULL: waits there are like others */
	uint64_t idle_ns; /* of the window, that was left out */
	bool borrowed; /* what it points to is kept for all that ask the same: merge/scope/kept.h */
};

struct step {
	uint32_t node; /* 0: that was all */
	bool entering;
};

/* -1 if there is no memory, or no thread or process is what QUERY asks for. */
int scope_init(struct scope *scope, const struct profile *p, const struct query *query,
               struct error *err);
void scope_fini(struct scope *scope);

static inline void scope_at_scope_end(struct scope *scope)
{
	scope_fini(scope);
}

/* [slot - 1]: whether QUERY asks for that thread, to be freed with free(). NULL on error. */
bool *scope_choose_threads(const struct profile *p, const struct query *query, struct error *err);

/* What CELL adds to the time in the window, and to the samples. See cells_between(). */
static inline uint64_t scope_ns(const struct scope *scope, const struct cell *cell)
{
	return cells_between(scope->table, cell, scope->first_bin, scope->end_bin);
}

static inline uint32_t scope_samples(const struct scope *scope, const struct cell *cell)
{
	return cell->bin >= scope->first_bin ? cell->samples : 0;
}

/* What CELL's thread did; with idle time of GPUs it stands beside which of them waited. */
static inline enum metric scope_metric(const struct cell *cell)
{
	return (enum metric)(cell->metric % METRIC_COUNT);
}

/* Whether CELL, one of scope->cells, is of an idle thread's waits that the query leaves out. */
static inline bool scope_is_idle(const struct scope *scope, const struct cell *cell)
{
	return scope->idle && scope->idle[cell->node - 1] && metric_may_be_idle(cell->metric);
}

/* Whether CELL, one of scope->cells, is of the time that was asked for. */
static inline bool scope_counts(const struct scope *scope, const struct cell *cell)
{
	return scope->metrics[scope_metric(cell)] && !scope_is_idle(scope, cell);
}

/* The bin of C that begins at TIME_NS, or is the first to begin after it. */
uint32_t scope_bin(const struct cells *c, uint64_t time_ns);

struct step scope_first(const struct scope *scope);
struct step scope_next(const struct scope *scope, struct step step);

/* Which frame gets the time of a node. */
struct key_frame;
struct keys;

#define OWNER_NONE UINT32_MAX

/* Whether FRAME takes over what its caller's OWNER (OWNER_NONE: none) has: indices in keys.frames.
 */
typedef bool takes_over(const struct keys *keys, uint32_t owner, uint32_t frame);

takes_over scope_shown; /* all that is not hidden */
takes_over
	scope_user_code; /* of that, the user's code, and bottleneck's own without such a caller */

/*
 * [node - 1]: the frame that owns the node's own time: the innermost one that TAKES over, or
 * OWNER_NONE. NULL if there is no memory.
 */
uint32_t *scope_owners(const struct scope *scope, const struct keys *keys, takes_over *takes);
