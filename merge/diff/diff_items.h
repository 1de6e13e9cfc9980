/* SPDX-License-Identifier: MIT */
/*
 * The rows of one run, with all that two runs are compared by. For the files of merge/ alone.
 */
#pragma once

#include "base/strings.h"
#include "merge/diff/diff.h"
#include "merge/rules/noise.h"

struct error;

/* All texts are strings of the diff; 0 if there is none. */
struct diff_item {
	uint32_t name, module, file, domain, shape; /* as they are shown */
	uint32_t plain;                  /* NAME without what a compiler has put behind it */
	uint32_t module_base, file_base; /* without directories */
	int line;
	int key_line; /* that it is matched by: of lines, as it was in BASE; else 0 */
	double ns, waiting_ns, calls, median_ns, bytes;
	double variance; /* of ns: from samples and calls, and of waits */
	double counted;  /* of that, from samples and calls */
	bool python, kernel, exact;
	bool by_clock; /* waits for a free CPU are in it */
	bool found;    /* by a rule: a run without it is no run in which it is 0 */
};

struct diff_items {
	struct diff_item *items;
	size_t count, capacity;
	double all_ns; /* what shares are shares of */
	struct noise_level noise;
	double sample_ns;      /* what a sample weighs; 0: unknown */
	bool by_wall;          /* wall time by owner is known of all runs: it is the account */
	struct strings *texts; /* borrowed */
};

/* -1 on error. ITEMS is all zeros but for its texts. */
int diff_items_take(struct diff_items *items, const struct diff_part *part,
                    const struct diff_query *query, struct error *err);
void diff_items_fini(struct diff_items *items);

/* One more, with the texts as they are shown; the others are worked out. NULL: no memory. */
struct diff_item *diff_items_add(struct diff_items *items, const char *name, const char *module,
                                 const char *file);

/* The times of the whole run, in diff_run_items.c. */
int diff_items_take_run(struct diff_items *items, const struct diff_part *part, struct error *err);
