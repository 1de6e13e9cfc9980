/* SPDX-License-Identifier: MIT */
/*
 * The form of the page's tables: columns with the kind of their values, and rows of values. For
 * cli/html/html_tables*.c alone.
 */
#pragma once

#include "cli/html/html_parts.h"
#include "cli/html/html_section.h"

#define HTML_ROWS_MAX 5000 /* of a table; the rest is counted */

struct html_column {
	const char *key, *title;
	const char *kind; /* "ns", "count", "bytes", "share", "number", "text", "place" */
};

/* Its rows come next. NOTE may be NULL. */
void html_open_table(struct json *j, const char *key, const char *title, const char *note,
                     const struct html_column *columns, size_t count);
/* ROWS: how many there were, with those that were left out. */
void html_close_table(struct json *j, size_t rows);

#define HTML_OPEN_TABLE(j, key, title, note, columns)                                              \
	html_open_table(j, key, title, note, columns, sizeof(columns) / sizeof((columns)[0]))

/* 0 is not known, or none. */
void html_put_known(struct json *j, uint64_t value);
void html_put_share(struct json *j, uint64_t part, uint64_t all);

/* What GPUs did, in the phase. -1 on error. */
int html_tables_gpu(const struct html *h, struct error *err);
