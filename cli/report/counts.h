/* SPDX-License-Identifier: MIT */
/*
 * Counted instructions for people and for programs (bottleneck-count(1)).
 */
#pragma once

#include "cli/report/section.h"
#include "merge/query/query_counts.h"

#include <stdint.h>
#include <stdio.h>

struct json;

#define COUNTS_JSON_VERSION 1

/* A statement that was called COUNT times, beside one call. */
struct counts_calls {
	uint32_t count;
	double each;        /* instructions of a call */
	const char *versus; /* the statement that was taken away; NULL: a call of the same */
	double versus_each;
};

/* What of a count is shown, and how. */
struct counts_shown {
	struct counts_query query;
	const char *baseline;             /* what was taken away, in words; NULL: nothing */
	uint32_t top;                     /* rows that people see */
	const struct counts_calls *calls; /* NULL: it is of a program */
};

/* All of a report on a count, for people or for JSON; AS must outlive it. */
struct section *section_count_report(struct report *r, const struct counts_shown *as,
                                     struct error *err);

/* The same as JSON; CALLS as in struct counts_shown. -1 if a question could not be answered: what
   has been printed by then is no JSON. */
int counts_json(const struct profile *profile, const struct counts_query *query,
                const struct counts_calls *calls, FILE *out, struct error *err);

/* The members of it alone, into an object that is open. */
int counts_json_members(struct json *j, const struct profile *profile,
                        const struct counts_query *query, struct error *err);
