/* SPDX-License-Identifier: MIT */
/*
 * Counted instructions for programs: JSON, as bottleneck-count(1) describes it.
 */
#pragma once

#include "merge/query/query_counts.h"

#include <stdio.h>

struct json;

#define COUNTS_JSON_VERSION 1

/* -1 if a question could not be answered: what has been printed by then is no JSON. */
int counts_json(const struct profile *profile, const struct counts_query *query, FILE *out,
                struct error *err);

/* The members of it alone, into an object that is open. */
int counts_json_members(struct json *j, const struct profile *profile,
                        const struct counts_query *query, struct error *err);

/* Where ROW is, into an object that is open: the members "name", "file", "line" and "module". */
void counts_json_place(struct json *j, const struct count_row *row);
