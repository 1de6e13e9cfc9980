/* SPDX-License-Identifier: MIT */
/*
 * Which rows of several runs are about the same thing. For the files of merge/ alone.
 *
 * In turns, the strictest first, and where only one is left on each side that could be meant: by
 * name, module and file; by name and module; by name and file; by name.
 */
#pragma once

#include "merge/diff/diff_items.h"

/* [row * runs + run]: index of the item + 1; 0: the run has no such row. */
struct diff_match {
	uint32_t *items;
	size_t count, capacity; /* rows; capacity of ITEMS */
	size_t runs;
};

/* The first BASES of RUNS are of BASE. Rows of one run that are called the same become one. -1 if
   there is no memory. */
int diff_match_make(struct diff_match *match, struct diff_items *runs, size_t count, size_t bases);
void diff_match_fini(struct diff_match *match);

static inline void diff_match_at_scope_end(struct diff_match *match)
{
	diff_match_fini(match);
}

/* NULL if RUN has none. */
static inline const struct diff_item *diff_match_item(const struct diff_match *match,
                                                      const struct diff_items *runs, size_t row,
                                                      size_t run)
{
	uint32_t item = match->items[row * match->runs + run];

	return item ? &runs[run].items[item - 1] : NULL;
}
