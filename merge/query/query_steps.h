/* SPDX-License-Identifier: MIT */
/*
 * The steps of a run: what it does over and over, one after the other.
 *
 * A step is a call of an op, or, where such calls take less than STEPS_COVERED of the time from
 * the first to the last, the time from the beginning of one to that of the next. Which op that is:
 *
 *   - the one that was asked for by a name, a glob, with all its shapes, in the process that calls
 *     it most; or
 *   - what the program says itself by the API of bottleneck (mark_step): from one mark to the
 *     next; or
 *   - what PyTorch's own profiler, where the program uses it, says: its ranges ProfilerStep#0,
 *     ProfilerStep#1 and so on; or
 *   - of the ops that are called again and again until the end (STEPS_MIN times and more, over
 *     STEPS_SPAN of the run, with no pause as long as half of that) the one with the fewest calls,
 *     those with less than STEPS_ENOUGH last. Names that somebody has given (ranges, labels,
 *     functions that --trace names) go before calls of libraries; for them STEPS_SPAN_NAMED is
 *     enough, as a short run may be imports for the most part, if no other goes on for longer.
 *     Then what the process of the critical thread calls goes before what others do for it, as
 *     those that load its data.
 *
 * Where there is no such op, steps are the iterations that samples show
 * (merge/query/query_iterations.h).
 *
 * The first SERIES_EXACT calls of an op are kept one by one; later steps are averages of so many.
 */
#pragma once

#include "base/cleanup.h"
#include "merge/numbers/lengths.h"
#include "merge/profile/profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STEPS_MIN        5
#define STEPS_ENOUGH     10
#define STEPS_SPAN       0.3
#define STEPS_SPAN_NAMED 0.1
#define STEPS_COVERED    0.6

struct error;

struct steps_query {
	const char *name; /* glob; NULL: whatever is found */
	uint64_t from_ns,
		to_ns; /* steps that began in this window of the run; to_ns 0: to its end */
};

struct run_step {
	uint64_t first;    /* its number, from 1, in the whole run */
	uint64_t calls;    /* steps that this is the average of: 1, but for late ones */
	uint64_t begin_ns; /* since the start of the run */
	uint64_t end_ns;   /* of all of them */
	uint64_t ns;       /* of one; of turns that samples show without waiting for a free CPU */
};

struct steps {
	const char *name; /* of the op, or of the function with the loop, which may be "" if it is
	                     not known; NULL: there are no steps */
	const char *provider, *domain; /* of the op; NULL: they are iterations */
	const char *file; /* of the loop, and its lines; NULL: unknown, or it is an op */
	int first_line, last_line;
	uint64_t bin_ns;   /* how exact the durations are; 0: exact */
	const char *shape; /* "" if none */
	bool between;      /* from one call to the next */
	bool labelled;     /* the op's name was given to it by somebody */
	uint32_t tid;      /* of the thread that calls it most; 0: unknown */
	uint32_t slot;     /* the same thread, for the files of merge/; 0: unknown */
	struct run_step *steps;
	size_t count;
	uint64_t calls; /* steps in all */
	uint64_t sum_ns, min_ns, max_ns, median_ns, q1_ns, q3_ns, p95_ns;
	struct two_lengths lengths; /* of the steps that are kept one by one */
};

/* Whether the steps are of two lengths, and STEP is one of the long ones. */
static inline bool steps_have_two_lengths(const struct steps *s)
{
	return s->lengths.lengthy.count > 0;
}

static inline bool step_is_long(const struct steps *s, const struct run_step *step)
{
	return steps_have_two_lengths(s) && (double)step->ns >= s->lengths.limit;
}

/* The median of the steps that are as long as STEP. */
static inline uint64_t step_usual_ns(const struct steps *s, const struct run_step *step)
{
	if (!steps_have_two_lengths(s))
		return s->median_ns;
	return (uint64_t)(step_is_long(s, step) ? s->lengths.lengthy.median
	                                        : s->lengths.brief.median);
}

/* NULL on error; no steps where none were found. Texts are the profile's. */
struct steps *query_steps(const struct profile *p, const struct steps_query *query,
                          struct error *err);
void steps_free(struct steps *s);

CLEANUP(steps, struct steps *, steps_free)
