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

/* What of a count is shown, and how. */
struct counts_shown {
	struct counts_query query;
	const char *baseline; /* what was taken away, in words; NULL: nothing */
	uint32_t top;         /* rows that people see */
};

/* All of a report on a count, for people or for JSON; AS must outlive it. */
struct section *section_count_report(struct report *r, const struct counts_shown *as,
                                     struct error *err);

/* The same as JSON. -1 if a question could not be answered: what has been printed by then is no
   JSON. */
int counts_json(const struct profile *profile, const struct counts_query *query, FILE *out,
                struct error *err);

/* The members of it alone, into an object that is open. */
int counts_json_members(struct json *j, const struct profile *profile,
                        const struct counts_query *query, struct error *err);
