/* SPDX-License-Identifier: MIT */
/*
 * Two counts of instructions (bottleneck-count(1)) against each other: they have no noise, so each
 * difference is one.
 */
#pragma once

#include "cli/report/diff_report.h"
#include "merge/query/query_counts.h"

#include <stdio.h>

struct error;
struct terminal;
struct profile;

struct diff_counts {
	const struct profile *base, *next;
	const char *base_path, *next_path;
	enum counts_by by;
	bool total, quiet;
	uint32_t top;
	struct diff_gate *gate; /* its least_ns are instructions; gets its status and reason */
};

/* As text, or, where TERMINAL is NULL, as JSON. -1 on error. */
int diff_counts_print(const struct diff_counts *counts, const struct terminal *terminal, FILE *out,
                      struct error *err);

#define DIFF_COUNTS_JSON_VERSION 1

/* What bottleneck-diff(1) describes, after the gate was judged. */
int diff_counts_json(const struct diff_counts *counts, const struct counts_query *query,
                     const char *sentence, FILE *out, struct error *err);
