/* SPDX-License-Identifier: MIT */
/*
 * Whether a run measured what it was meant to, or its warm-up: merge/warmup/warmup.h on every op's
 * calls, on the steps of the run where these are from one call of what has a label to the next,
 * and, where there are no ops, on the turns of a loop that samples show.
 *
 * An op counts if it took a hundredth of the run and more. Garbage collections do not: what they
 * cost is how much there is. Calls are those of the whole run, or those that began in QUERY's
 * window.
 */
#pragma once

#include "base/cleanup.h"
#include "merge/query/query.h"
#include "merge/warmup/warmup.h"

enum warmup_kind {
	WARMUP_CALLS, /* of an op */
	WARMUP_STEPS, /* from one call of the op to the next: merge/query/query_steps.h */
	WARMUP_TURNS  /* of a loop that samples show; NAME is its function, which may be "" */
};

struct warmup_row {
	enum warmup_kind kind;
	const char *name, *provider, *domain; /* of turns the last two are "" */
	const char *file;                     /* of turns; NULL if unknown */
	int line;
	const char *shape; /* "" if it has none */
	uint64_t calls;
	struct warmup judged; /* its excess is of the op's own time */
	uint64_t ns;          /* of all calls */
	uint64_t slow_ns;     /* how long the slow first calls took */
	uint64_t excess_ns;   /* of that, beyond the steady level */
	uint64_t begin_ns;    /* when the first of them began, since the start of the run */
	uint64_t end_ns;      /* when the last of them ended, since the start of the run */
	bool nested;          /* within calls of another row: what it took is in there */
	bool labelled;        /* somebody has given the op its name */
};

struct warmup_rows {
	enum warmup_verdict verdict; /* of the run */
	bool too_few;                /* most of the time was in ops that ran once or twice */
	bool unseen;                 /* next to nothing of the run was in ops, steps or turns */
	uint64_t ops_ns;             /* time in ops, each moment counted once a thread */
	uint64_t steps_ns;  /* time in steps that are looked at: those that are not the calls of an
	                       op, which ops_ns holds; 0: there are none */
	uint64_t excess_ns; /* of that, what warm-up took: of the rows that are not nested */
	uint64_t steady_ns; /* when the last warm-up ended, since the start of the run */
	struct warmup_row *rows; /* of the verdict's kind, most excess first; those that are nested
	                            behind the others */
	size_t count;
};

/* NULL on error. Texts are the profile's. */
struct warmup_rows *query_warmup(const struct profile *p, const struct query *query,
                                 struct error *err);
void warmup_rows_free(struct warmup_rows *rows);

CLEANUP(warmup_rows, struct warmup_rows *, warmup_rows_free)
