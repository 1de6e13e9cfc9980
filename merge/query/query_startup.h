/* SPDX-License-Identifier: MIT */
/*
 * How long a program took to start, and what it did meanwhile.
 *
 * The start is the beginning of the first thread's time that holds most of what every program of
 * its kind does before its own work (see cause_is_startup()): it ends where the time for that, less
 * all other time, is greatest. Time that says nothing of what it was for does not count: waiting
 * for a CPU, for memory and for files, and what was not seen. Work that is repeated, if there is
 * any (see merge/query/query_steps.h), is not part of it.
 *
 *	  imports    x    imports        work         import  work
 *	|##########|....|###########|...............|####|.........
 *	                            ^ here
 */
#pragma once

#include "merge/profile/profile.h"
#include "merge/warmup/cause.h"

#include <stdint.h>

struct startup {
	uint64_t ns; /* when it ended, since the start of the run; 0: none was seen */
	uint64_t causes[CAUSE_COUNT]; /* of that, the first thread's time; CAUSE_NONE: the rest */
};

/* LIMIT_NS: when work that is repeated began, 0 if there is none. -1 if there is no memory. */
int query_startup(const struct profile *p, uint64_t limit_ns, struct startup *startup,
                  struct error *err);
