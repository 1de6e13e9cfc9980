/* SPDX-License-Identifier: MIT */
/*
 * The rows that people are shown, and what their kinds and places are called. Texts that are
 * returned are there for good.
 */
#pragma once

#include "merge/query/query.h"

#include <stdbool.h>
#include <stddef.h>

struct report;
struct view;

/* The rows that a table shows: query_run() without waits for children. For rows_free(). NULL on
   error. */
struct rows *rows_shown(const struct profile *profile, const struct view *view, enum query_by by,
                        enum query_sort sort, struct error *err);

/* What either makes, for programs: best self time first, and with rows that have nothing but time
   that people are not shown. */
struct rows *rows_all(const struct profile *profile, const struct view *view, enum query_by by,
                      struct error *err);

/* As rows_shown(), by line: where any are the user's own, with the libraries that they call, and
   then OWN_CODE is set, which may be NULL. */
struct rows *rows_by_line(const struct profile *profile, const struct view *view,
                          enum query_sort sort, bool *own_code, struct error *err);

bool rows_have_python(const struct rows *rows);

/* What every program, and every system call, has above its own code: true, and no news. */
bool row_is_startup(const char *function);

/* What an off-CPU metric is called in a column ("lock wait"); "" for METRIC_ON_CPU. */
const char *wait_words(enum metric metric);

/* The kind of a row: "native", "inline", "kernel", or what it mostly waits for. */
const char *row_kind_words(const struct row *row);

/* "dir/file.c:88" without the directories, or the module in brackets; "" if nothing is known. */
void place_words(const char *file, int line, const char *module, char *buffer, size_t size);

/* "0.21 to 0.26 s", in the unit and with the digits of a column whose largest time is LARGEST_NS;
   "" where both are the same in that. */
const char *range_words(struct report *r, uint64_t low_ns, uint64_t high_ns, uint64_t largest_ns);

/* What stands beside NAME: PLACE, unless NAME is that already, as it is for code without symbols.
 */
const char *place_beside(const char *name, const char *place);
