/* SPDX-License-Identifier: MIT */
/*
 * Counted instructions for people: rows, and what they leave out.
 */
#pragma once

#include "merge/query/query_counts.h"

#include <stdint.h>
#include <stdio.h>

struct error;
struct profile;
struct terminal;

struct text_counts {
	FILE *out;
	const struct terminal *terminal;
	const struct profile *profile;
	const char *baseline; /* what was taken away, in words; NULL: nothing */
	struct counts_query query;
	uint32_t top;
};

int text_counts(const struct text_counts *text, struct error *err);
