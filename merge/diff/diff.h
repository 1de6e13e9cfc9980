/* SPDX-License-Identifier: MIT */
/*
 * What changed between two programs, or two runs of one: BASE and NEW, each of one run or of
 * several that repeat it.
 *
 * Rows of all runs are matched by what they are called: functions by name, module and file, lines
 * by file and line (a file whose lines have all moved by so many is seen to have), ops by domain,
 * name and shape, threads and processes by name. Addresses, process numbers and the directories of
 * files and modules do not matter, nor do the suffixes that compilers give to clones of functions.
 *
 * A row is CHANGED if its change is more than chance makes of it (merge/rules/noise.h), with all
 * rows taken together: of two runs of one program it is unlikely that even one row has (Holm). It
 * is the SAME if its change, whatever it is, is small: the interval lies within DIFF_SMALL of the
 * row's time or of all time. Else it is UNSURE: nobody can tell.
 *
 * A diff owns its texts; the profiles may go. One thread at a time.
 */
#pragma once

#include "base/cleanup.h"
#include "merge/query/query.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

#define DIFF_SMALL_ROW 0.05  /* of a row's own time */
#define DIFF_SMALL_ALL 0.005 /* of all time */

enum diff_by {
	DIFF_RUN,   /* wall time, CPU time, waits, start-up, warm-up, a step: of the whole run */
	DIFF_OWNER, /* whose the wall time is: functions, see merge/query/query_wall.h */
	DIFF_FUNCTION,
	DIFF_LINE,
	DIFF_MODULE,
	DIFF_FILE,
	DIFF_THREAD,
	DIFF_PROCESS,
	DIFF_OP,
	DIFF_SHAPE,  /* ops by what they were done on */
	DIFF_KERNEL, /* what GPUs ran */
	DIFF_TABLES
};

enum diff_sort {
	DIFF_BY_CHANGE, /* the absolute change of self time, for which the others stand in total */
	DIFF_BY_RATIO,
	DIFF_BY_BASE,
	DIFF_BY_NEW
};

/* One run, and what of it counts: QUERY's filters and window; its by and sort are not looked at. */
struct diff_part {
	const struct profile *profile;
	struct query query;
	const char *steps; /* glob, as in struct steps_query; NULL: found by itself */
};

struct diff_side {
	const struct diff_part *parts;
	size_t count; /* at least one */
};

struct diff_query {
	enum diff_by by;
	bool total; /* the times of functions are with what they call; of ops, too */
	enum diff_sort sort;
	double confidence; /* 0 … 1, of all rows together: 0.95 */
	double min_share; /* of all time, 0 … 1: rows that have less on both sides are left out */
};

enum diff_verdict {
	DIFF_SAME,
	DIFF_CHANGED,
	DIFF_UNSURE
};

/* One side of a row: means over its runs. */
struct diff_value {
	unsigned runs; /* in which the row is */
	double ns;
	double waiting_ns; /* of that, off the CPU */
	double calls;      /* 0: unknown */
	double median_ns;  /* of a call; 0: unknown */
	double bytes;      /* that an op has allocated; 0: none, or unknown */
	double spread_ns;  /* standard error of NS, as far as one can know it */
	int line;          /* 0 if unknown */
};

struct diff_row {
	const char *name;   /* never NULL */
	const char *file;   /* NULL if unknown */
	const char *module; /* NULL if it has none */
	const char *domain; /* of an op: its domain or provider; else "" */
	const char *shape;  /* "" if none */
	struct diff_value base, next;
	double change_ns; /* NEXT less BASE */
	double margin_ns; /* half width of the interval of that, of all rows together */
	double error_ns;  /* its standard error, with so many degrees of FREEDOM */
	double freedom;
	double p; /* how likely chance makes as much of it, of all rows together */
	enum diff_verdict verdict;
	bool python, kernel;
	bool exact; /* a count of the run's, no time that was sampled */
};

struct diff {
	struct diff_row *rows; /* in the order that was asked for */
	size_t count;
	size_t left_out;         /* rows that have less than min_share */
	double base_ns, next_ns; /* all time: means over the runs */
	struct strings *texts;
};

/* NULL on error. */
struct diff *diff_new(const struct diff_side *base, const struct diff_side *next,
                      const struct diff_query *query, struct error *err);
void diff_free(struct diff *diff);

CLEANUP(diff, struct diff *, diff_free)

/* Whether DIFF_OWNER knows of both sides what DIFF_FUNCTION does not: wall time is known of all
   runs, and code ranks by it in one of them. -1 on error. */
int diff_has_owners(const struct diff_side *base, const struct diff_side *next, struct error *err);

/* NEXT of BASE, less 1: 0.1 is a tenth more. Infinite where there was nothing. */
double diff_ratio(const struct diff_row *row);

/* Names of tables, "function" …, and the reverse; DIFF_TABLES if there is none. */
const char *diff_by_name(enum diff_by by);
