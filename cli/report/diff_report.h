/* SPDX-License-Identifier: MIT */
/*
 * What "bottleneck diff" has to say, before it is printed as text, as JSON or in a page.
 *
 * The tables come from merge/diff/diff.h; beside them stand one sentence with the answer, what was
 * not measured alike, and what the gate says.
 */
#pragma once

#include "base/format.h"
#include "merge/diff/diff.h"

#include <stdbool.h>
#include <stddef.h>

struct error;
struct profile;
struct report;
struct section;
struct view;

#define DIFF_JSON_VERSION  1
#define DIFF_DIFFERENCES   12
#define DIFF_AMOUNTS       12
#define DIFF_REGRESS_SHARE 0.01 /* of BASE's wall time: an absolute limit that nobody gave */

/* What was measured in another way. */
struct diff_difference {
	const char *what; /* "rate" */
	char base[160], next[160];
	bool grave; /* the times cannot be compared: a gate is inconclusive */
};

/* What is counted and not timed, and differs. */
struct diff_amount {
	char name[240]; /* "calls of aten::mm" */
	bool bytes;     /* else a number */
	double base, next;
};

struct diff_gate {
	bool asked;
	double ratio;     /* limits: 0.05, of the row's own time in BASE … */
	double least_ns;  /* … and this much; 0: DIFF_REGRESS_SHARE */
	int status;       /* 0, EXIT_REGRESSION, EXIT_INCONCLUSIVE */
	char reason[400]; /* "" for 0 */
};

struct diff_report {
	const struct diff_side *base, *next;
	const char *const *base_paths, *const *next_paths; /* as many as there are parts */
	struct diff *tables[DIFF_TABLES];                  /* NULL: not asked for */
	bool chosen;    /* one table was asked for, and not the whole report */
	bool total;     /* times with what is called */
	bool ops_total; /* the same for the table of ops alone: that is where they differ */
	bool quiet;     /* no tables */
	size_t top;
	double confidence;
	struct diff_difference differences[DIFF_DIFFERENCES];
	size_t difference_count;
	struct diff_amount amounts[DIFF_AMOUNTS];
	size_t amount_count;
	struct diff_gate gate;
	char sentence[700];
	char doubt[400]; /* what keeps the answer from being better; "" if nothing does */
};

/* Fills in differences. */
void diff_report_differ(struct diff_report *report);

/* Fills in amounts: after the tables. -1 on error. */
int diff_report_count(struct diff_report *report, struct error *err);

/* VALUE of AMOUNT: "1.2 GB", "1,200". */
struct short_text diff_amount_words(const struct diff_amount *amount, double value);

/* Fills in the sentence and the doubt: after the tables and the differences. */
void diff_report_conclude(struct diff_report *report);

/* Fills in the gate's status and reason: last. */
void diff_report_judge(struct diff_report *report);

/* The row of the table DIFF_RUN that is called NAME; NULL if there is none. */
const struct diff_row *diff_report_run_row(const struct diff_report *report, const char *name);

/* Rows of DIFF_RUN. */
#define DIFF_WALL  "wall time"
#define DIFF_OWN   "wall time, with a CPU of its own"
#define DIFF_RUNS  "repeated runs, the median"
#define DIFF_CALLS "repeated calls, the median"

/* The one that says best how long it takes: what bench measured, else DIFF_OWN. NULL: none. */
const struct diff_row *diff_report_best(const struct diff_report *report);

/* "parse_row in csv.c:88". */
void diff_report_name(const struct diff_row *row, char *buffer, size_t size);

/* What is different in the run of R, in the part that its view shows, from the part of BASE that
   ASKED means there. It is R's, and BASE must outlive it; tables have as many rows as R's view has
   at the top. NULL on error. */
const struct diff_report *diff_report_of(struct report *r, const struct view *asked,
                                         const struct profile *base, struct error *err);

/* A table of it as people see it; there is nothing to show of those that were not asked for. */
struct section *diff_report_table(struct report *r, const struct diff_report *report,
                                  enum diff_by by, struct error *err);

/* What was counted and differs; not shown where nothing does, or a table was asked for that has no
   ops. */
struct section *diff_report_amounts(struct report *r, const struct diff_report *report,
                                    struct error *err);

enum diff_side_column {
	DIFF_SIDE_NAME,
	DIFF_SIDE_COMMAND,
	DIFF_SIDE_FACTS, /* in signs of text_signs() */
	DIFF_SIDE_PATH,
	DIFF_SIDE_MORE /* behind the path: "", or that there are more */
};

/* A row for BASE and one for NEW. */
struct section *diff_report_sides(struct report *r, const struct diff_report *report,
                                  struct error *err);

/* "slower", "faster", "new", "gone", "same", "unsure": what is known of ROW. */
const char *diff_row_word(const struct diff_row *row);
