/* SPDX-License-Identifier: MIT */
/*
 * What a report for people has, in which order: the answer, sections, and the limits, or the tables
 * that the options of a view name.
 *
 * A format gives the functions that print them. What they are given lives until they return; one
 * thread at a time.
 */
#pragma once

#include "cli/report/section.h"

struct called_list;
struct error;
struct verdict;

struct outline_format {
	void *context; /* of all of them */
	bool ascii;    /* as in struct report */
	/* These print; -1 with ERR if they could not. A section comes with those behind it. */
	int (*section)(void *context, const struct section *s, struct error *err);
	int (*verdict)(void *context, const struct verdict *v, struct error *err);
	/* How many lines the one of them that is not NULL would have there; -1 with ERR. */
	int (*lines)(void *context, const struct section *s, const struct verdict *v,
	             struct error *err);
	int (*called)(void *context, const struct called_list *list, struct error *err);
};

/* Has FORMAT print what VIEW asks for of PROFILE; LIMITS are those of findings, or NULL. -1 if a
   question could not be answered, or something not printed. */
int outline_print(const struct outline_format *format, const struct profile *profile,
                  const struct view *view, const struct rule_limits *limits, struct error *err);
