/* SPDX-License-Identifier: MIT */
/*
 * Counted instructions for programs: JSON, as bottleneck-count(1) describes it.
 */
#pragma once

#include "merge/query_counts.h"

#include <stdio.h>

#define COUNTS_JSON_VERSION 1

int counts_json(const struct profile *profile, const struct counts_query *query, FILE *out,
                struct error *err);
