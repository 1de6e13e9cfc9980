/* SPDX-License-Identifier: MIT */
/*
 * The report for people: the answer, the rows, the limits.
 *
 * Each section is a file text_*.c and prints nothing where it has nothing to
 * say. All of them read one profile, so a saved run reports like a fresh one.
 */
#pragma once

#include "cli/report/view.h"
#include "cli/terminal.h"
#include "merge/query/query.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct error;
struct findings;
struct rule_limits;
struct run;

struct text {
	FILE *out;
	const struct profile *profile;
	const struct view *view;
	struct terminal terminal;
	const struct rule_limits *limits; /* of findings; NULL: the rules' own */
};

/* Prints what the view asks for. -1 if a question could not be answered. */
int text_print(const struct text *text, struct error *err);

/* The sections. */
void text_header(const struct text *text, const struct totals *totals);
int text_verdict(const struct text *text, const struct findings *findings, struct error *err);
int text_warmup(const struct text *text, struct error *err);
int text_steps(const struct text *text, struct error *err);
int text_ranks(const struct text *text, struct error *err); /* of a merged profile */
int text_repeats(const struct text *text, struct error *err);
int text_account(const struct text *text, const struct totals *totals, struct error *err);
void text_findings(const struct text *text, const struct findings *findings);
int text_imports(const struct text *text, struct error *err);
int text_hotspots(const struct text *text, enum query_by by, enum query_sort sort,
                  struct error *err);
int text_owners(const struct text *text, enum query_by by, struct error *err);
int text_lines(const struct text *text, struct error *err);
int text_ops(const struct text *text, struct error *err);
int text_gpu_lines(const struct text *text, struct error *err);
int text_counters(const struct text *text, struct error *err);
int text_devices(const struct text *text, struct error *err);
int text_gpu(const struct text *text, struct error *err);
int text_gpu_rows(const struct text *text, enum query_by by, struct error *err);
int text_gpu_streams(const struct text *text, struct error *err);
int text_gpu_kernels(const struct text *text, struct error *err); /* and copies, alone */
int text_gpu_managed(const struct text *text, struct error *err);
void text_no_gpu(const struct text *text); /* where a table of one was asked for */
int text_gpu_limits(const struct text *text, struct error *err);
int text_memory(const struct text *text, struct error *err);
int text_tree(const struct text *text, struct error *err);
int text_limits(const struct text *text, const struct totals *totals, struct error *err);

/* What looking on has cost in CPU time, and the line that tells who took it. */
uint64_t text_overhead_ns(const struct run *run);
void text_overhead(const struct text *text);

/* A paragraph of a section: a note, or one of the limits, which come last. */
__attribute__((format(printf, 2, 3))) void text_say(const struct text *text, const char *format,
                                                    ...);

/* The rows that a table prints: query_run() without waits for children. NULL on error. */
struct rows *text_rows(const struct text *text, enum query_by by, enum query_sort sort,
                       struct error *err);

bool text_has_python(const struct rows *rows);

/* Prints the heading of a section: NAME in bold, NOTE behind it in pale. */
void text_heading(const struct text *text, const char *name, const char *note);

/* What every program, and every system call, has above its own code: true, and no news. */
bool text_is_startup(const char *function);

/* What an off-CPU metric is called in a column ("lock wait"); "" for METRIC_ON_CPU. */
const char *text_wait_kind(enum metric metric);

/* The kind of a row: "native", "inline", "kernel", or what it mostly waits for. */
const char *text_row_kind(const struct row *row);

/* "dir/file.c:88" without the directories, or the module in brackets; "" if nothing is known. */
void text_place(const char *file, int line, const char *module, char *buffer, size_t size);

/* What stands beside NAME: PLACE, unless NAME is that already, which is so of code without names. */
const char *text_beside(const char *name, const char *place);
