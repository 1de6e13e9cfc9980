/* SPDX-License-Identifier: MIT */
/*
 * The iterations of the hot loop of a program that has no ops, as samples show them:
 * merge/warmup/cycle.h on which of its lines the critical thread was in, millisecond by
 * millisecond.
 *
 * The loop is the outermost one of the functions that took half of the thread's time and more, of
 * the user's own code if there is one in it.
 * What libraries do in turns below one line of the user's own is no loop of the program's.
 * Its first turn begins with what later ones begin with, or with lines before that to which the
 * loop comes again, however briefly: what was done there only once may be the set-up. Where no line
 * tells one call of a function from another, as in code of JIT compilers, what a turn begins with
 * may be the set-up, too. Functions that are compiled again are the same ones: names are
 * compared without their tier.
 * Only loops are found that come by two places at least, and stay at one of them for three bins of
 * time (BIN_NS): where one line takes all of the time, or turns are faster, none can be determined.
 */
#pragma once

#include "base/cleanup.h"
#include "merge/query/query.h"

struct iteration {
	uint64_t begin_ns; /* since the start of the run */
	uint64_t ns;       /* without waiting for a free CPU; exact to a bin */
};

struct iterations {
	const char *function, *file; /* of the loop; NULL if unknown */
	int first_line, last_line;   /* of the calls and the code in it that were seen; or 0 */
	struct iteration *items;     /* in their order, without a gap */
	size_t count;                /* 0: no loop was found */
	uint64_t bin_ns;
};

/* NULL on error. Texts are the profile's. */
struct iterations *query_iterations(const struct profile *p, struct error *err);
void iterations_free(struct iterations *iterations);

CLEANUP(iterations, struct iterations *, iterations_free)
