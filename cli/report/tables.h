/* SPDX-License-Identifier: MIT */
/*
 * The tables of a profile for programs: bottleneck-json(5) says what is in each.
 *
 * Names of tables and columns keep their meaning as long as REPORT_JSON_VERSION is the same; new
 * ones may come, columns behind the others.
 */
#pragma once

#include <stddef.h>

struct error;
struct profile;
struct report;
struct section;

struct report_table {
	const char *name;
	/* All rows. NULL if the question could not be answered. */
	struct section *(*make)(struct report *r, struct error *err);
};

/* Those of P, in order: NULL behind the last one. Repeated runs and counts have theirs alone, and
   what they rest on; NULL: all there are. */
const struct report_table *tables_at(const struct profile *p, size_t index);

/* NULL if there is none of that name; its words go to ERR. */
const struct report_table *tables_find(const char *name, struct error *err);
