/* SPDX-License-Identifier: MIT */
/*
 * Functions by their calls, as cProfile and its pstats have them: for formats that print them as
 * those do. As tables of their own they are section_sheet_calls() and section_sheet_callers().
 */
#pragma once

#include "merge/query/query_called.h"

#include <stdbool.h>

struct error;
struct report;

struct called_list {
	const struct called_rows *rows; /* in the order that the view asks for */
	size_t shown;                   /* the first ones, as many as the view takes */
	const char *order;              /* what they are ordered by, in pstats' words */
	bool edges;                     /* each with who is at the other end of its calls … */
	bool callers;                   /* … who called it; else whom it has called */
};

/* The list that R's view asks for; its rows are R's. -1 on error. */
int called_list(struct report *r, struct called_list *list, struct error *err);
