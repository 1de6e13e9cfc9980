/* SPDX-License-Identifier: MIT */
/*
 * Questions about counted instructions (merge/profile/counts.h).
 *
 * Self is what a row has executed itself, total with all that it has called; a function that is
 * entered again while it runs counts once in its total. Self is exact, and so is the total of what
 * other functions have called; where two call each other in turns, theirs holds what both do.
 *
 * Noise is what differs from run to run, and from machine to machine, for reasons outside the
 * program: the dynamic loader, and the look-ups of names in CPython's dictionaries, which go by
 * hashes of addresses (what torch.utils.benchmark's denoise() leaves out).
 */
#pragma once

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct profile;
struct strings;

enum counts_by {
	COUNTS_BY_FUNCTION,
	COUNTS_BY_LINE, /* the line that the instructions are of, inlined or not; no total */
	COUNTS_BY_FILE, /* the same by file */
	COUNTS_BY_MODULE
};

enum counts_sort {
	COUNTS_SORT_SELF,
	COUNTS_SORT_TOTAL
};

struct counts_query {
	enum counts_by by;
	enum counts_sort sort;
	const char *filter;            /* glob of functions; NULL: all */
	const char *const *transforms; /* FROM=TO: texts in names and files, in this order */
	size_t transform_count;
	bool noise;                     /* is shown, too */
	const struct profile *baseline; /* is taken away, row by row; NULL: none */
};

struct count_row {
	const char *name;           /* of the function, or of file or module; never NULL */
	const char *file;           /* NULL if unknown */
	int line;                   /* 0 if unknown */
	const char *module;         /* NULL if unknown, or several */
	int64_t self, total, calls; /* with a baseline: what differs */
	int64_t base_self, base_total, base_calls; /* the baseline's; 0 without one */
};

struct count_rows {
	struct count_row *rows; /* the greatest first, by amount */
	size_t count;
	struct strings *texts;      /* of the rows */
	int64_t self;               /* of all rows */
	int64_t noise;              /* that is left out */
	uint64_t all, baseline_all; /* that were executed, whatever is asked for */
	uint64_t unnamed,
		unlined; /* of all: in functions without a name, in lines without a number */
	const char *unnamed_module, *unlined_module; /* where most of those are; NULL: none */
};

/* Whether P is a count of instructions, and of nothing else. */
bool profile_has_counts(const struct profile *p);

/* NULL on error. */
struct count_rows *query_counts(const struct profile *p, const struct counts_query *query,
                                struct error *err);
void count_rows_free(struct count_rows *rows);

CLEANUP(count_rows, struct count_rows *, count_rows_free)
