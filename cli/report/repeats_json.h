/* SPDX-License-Identifier: MIT */
/*
 * Repeated runs for programs: JSON, as bottleneck-bench(1) describes it. New members may come;
 * those that are there keep their meaning as long as "schema_version" is the same.
 */
#pragma once

#include <stdio.h>

struct error;
struct json;
struct profile;

#define REPEATS_JSON_VERSION 1

int repeats_json(const struct profile *profile, FILE *out, struct error *err);

/* The members of it alone, into an object that is open. */
int repeats_json_members(struct json *j, const struct profile *profile, struct error *err);
