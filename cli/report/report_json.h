/* SPDX-License-Identifier: MIT */
/*
 * The report for programs: JSON, as bottleneck-findings(7) describes it. New members may come;
 * those that are there keep their meaning as long as "schema_version" is the same.
 */
#pragma once

#include <stdio.h>

struct error;
struct findings;
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

/* The member "findings" alone. */
int report_json_findings(struct json *j, const struct profile *profile, const struct view *view,
                         const struct findings *findings, struct error *err);
