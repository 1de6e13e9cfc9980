/* SPDX-License-Identifier: MIT */
/*
 * What took longer in some steps than in the others: functions of the user's own code, with all
 * that they called.
 *
 * Time of the steps' thread goes to the innermost frame of the user's own code (base/origin.h), and
 * where a stack has none, to its innermost frame. A function that others call, too, says little:
 * its time is that of the nearest caller of which it is a part alone,
 *
 *	main > choose > multiply    slow in this step
 *	main > train > multiply     as in all
 *
 * so that choose is what took longer, by way of multiply. Lambdas and comprehensions are parts of
 * the function around them.
 */
#pragma once

#include "merge/query/query_steps.h"

struct step_excess {
	char name[128];   /* of the function; cut, if it is longer */
	char via[128];    /* that it called and that took most of it, of the user's own; "": none */
	const char *file; /* NULL if unknown; the profile's */
	int line;         /* of it, that took longer than any other; 0 if unknown */
	int metric;       /* enum metric that most of it was */
	uint64_t excess_ns; /* beyond the mean of the other steps */
};

#define STEP_EXCESSES 2

/*
 * COUNT steps from the one of index FIRST on, against the others. Fills the most excess first;
 * returns how many: none where these steps are not slower than the median, or are shorter than four
 * bins of time, which samples do not tell apart. -1 on error.
 */
int steps_explain(const struct profile *p, const struct steps *s, size_t first, size_t count,
                  struct step_excess out[STEP_EXCESSES], struct error *err);
