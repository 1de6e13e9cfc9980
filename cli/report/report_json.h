/* SPDX-License-Identifier: MIT */
/*
 * The report for programs: JSON, as bottleneck-findings(7) describes it. New members may come;
 * those that are there keep their meaning as long as "schema_version" is the same.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

struct error;
struct json;
struct profile;
struct rule_limits;
struct view;

#define REPORT_JSON_VERSION 1

/* Members that come behind the others. */
struct report_json_more {
	int (*put)(struct json *j, const void *context, struct error *err);
	const void *context;
};

/* MORE may be NULL. -1 if a question could not be answered: what has been printed by then is no
   JSON. */
int report_json(const struct profile *profile, const struct view *view,
                const struct rule_limits *limits, const struct report_json_more *more, FILE *out,
                struct error *err);

/* Whether PROFILE is of repeated runs or of counts, which have a report of their own. */
bool report_json_is_measured(const struct profile *profile);

/* The members of that, into an object that is open. */
int report_json_measured(struct json *j, const struct profile *profile, struct error *err);
