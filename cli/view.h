/* SPDX-License-Identifier: MIT */
/*
 * Which part of a profile is shown, and how: the options that run and report
 * share.
 */
#pragma once

#include "cli/option.h"
#include "cli/terminal.h"
#include "merge/query.h"

#include <stdbool.h>
#include <stdint.h>

enum view_sort {
	VIEW_SORT_NONE = -1,
	VIEW_SORT_SELF,
	VIEW_SORT_TOTAL,
	VIEW_SORT_LINE
};

struct view {
	int sort; /* enum view_sort; NONE: the whole report */
	int by;   /* enum query_by, -1: not asked for */
	uint32_t top;
	double min_percent; /* negative: not asked for, see view_min_share() */
	bool call_tree;
	const char *thread, *process, *hide, *user_code; /* as in struct query */
	uint64_t from_ns, to_ns;
	bool on_cpu, off_cpu;
	uint32_t width; /* 0: the terminal's */
	int color;      /* enum color_when */
	bool quiet, verbose;
};

#define VIEW_TOP_DEFAULT 15

/* What is shown if nobody asks for something else. */
struct view view_default(void);

/* The options of struct view. */
struct option_group view_options(struct view *view);

/* The question that VIEW asks, less its table: by and sort are the caller's. */
struct query view_query(const struct view *view, enum query_by by, enum query_sort sort);

/* The least share of a row, 0 to 1: a tree has many more of them than a table. */
double view_min_share(const struct view *view, bool tree);

/* True if VIEW leaves anything out of the run: then the verdict on all of it is not shown. */
bool view_is_filtered(const struct view *view);

/* -1 with one line in ERR if the options contradict each other. */
int view_check(const struct view *view, struct error *err);
