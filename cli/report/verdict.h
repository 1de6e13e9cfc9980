/* SPDX-License-Identifier: MIT */
/*
 * The answer in two sentences: one number and one place, then what to do next.
 *
 * It is that of the finding that explains most, where one is worth changing something for and no
 * function or op explains more of the run; else what most of the time went to, and the finding
 * next.
 */
#pragma once

#include "merge/rules/price.h"

#include <stdbool.h>
#include <stddef.h>

struct error;
struct finding;
struct findings;
struct profile;
struct view;

#define VERDICT_EXTRAS 4

struct verdict {
	char sentence[600];
	char next[800];
	/* Sentences of NEXT that it can do without, the last first: where each begins. */
	size_t extra_at[VERDICT_EXTRAS];
	size_t extras;
	size_t second; /* the one that says SAID_NEXT, from 1; 0: none does */
	bool too_few;  /* samples: tables of functions tell nothing */
	const struct finding *said, *said_next; /* in these; borrowed; NULL: none */
	struct price price; /* of a change at the place that the sentence names; 0: it names none,
	                       or that is not known */
};

/* -1 if a question could not be answered. */
int verdict_find(const struct profile *profile, const struct view *view,
                 const struct findings *findings, struct verdict *verdict, struct error *err);
