/* SPDX-License-Identifier: MIT */
/*
 * What is wrong with a run, by the seconds that each finding explains: each rule of
 * merge/rules/rule.h, asked.
 *
 * Rules are asked about the steady state, that is behind the warm-up, unless they are about the
 * whole run, or QUERY names a window itself. A rule that could not be asked says why.
 */
#pragma once

#include "base/cleanup.h"
#include "merge/rules/rule.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile;
struct query;

#define FINDING_ROWS 4

/* One line of evidence. */
struct finding_row {
	const char *function; /* never NULL */
	const char *file;     /* NULL if unknown */
	int line;
	const char *callee; /* what it called for that; NULL if nothing */
	uint64_t ns;        /* 0 if it is not about time */
	double share;       /* of the same whole as the finding's; 0 if unknown */
	uint64_t calls;     /* 0 if unknown */
};

struct finding {
	const struct rule *rule;
	enum severity severity;
	double value, threshold; /* of which one is above, or below, the other */
	double share;            /* of the time that counts, 0 to 1; 0 if it is not about time */
	bool of_cpu; /* it is CPU time of all threads, of which that is; else wall time, or the
	                critical thread's */
	bool of_run; /* OF_CPU, but as a share of the wall time, as the CPU time of all
	                threads is less than that */
	bool without_queue; /* the share is of that less what was waited for CPUs */
	uint64_t saving_ns; /* of the wall time of what was asked about, at most what is saved
	                       without what was found: its rule's part of it; 0: none. Never more
	                       than was measured of that */
	uint64_t saving_margin_ns; /* half of its 95 % interval, as far as samples found it; 0: it
	                              comes from no samples. See query_sampling_margin() */
	uint64_t elsewhere_ns; /* of that wall time, what goes with it at places that are not known,
	                          without waits for a CPU: in the highest end alone */
	/* What a change at that place may save (merge/rules/price.h): from what the finding has
	   measured to the wall share of the whole place, FUNCTION with all that it calls, and what
	   was measured at other places; without
	   such a place, to all that was measured; both with what price.h says of the ends.
	   Where the saving is an upper bound (BOUND), or of a note on code itself (OTHERWISE), from
	   0 on. Both are 0 if SAVING_NS is. */
	uint64_t saving_low_ns, saving_high_ns;
	uint64_t asked_ns; /* wall time of what was asked about, of which these are parts */
	double part;       /* in place of its rule's; 0: that */
	bool children; /* the place is also what all processes do that the first one has started */
	bool bound;    /* what of the saving can be had is up to how far the work can be divided */
	const char *function; /* where to begin; NULL if there is no such place */
	const char *file;
	int line;
	char fact[400];   /* a sentence without its period */
	char advice[400]; /* sentences */
	struct finding_row rows[FINDING_ROWS];
	size_t row_count;
	const struct rule *covered; /* a finding of this more special rule says most of it */
};

enum rule_state {
	RULE_SILENT,
	RULE_FIRED,
	RULE_OFF,    /* by the user */
	RULE_UNKNOWN /* not evaluated */
};

struct rule_answer {
	enum rule_state state;
	bool asked; /* else the run is not of its kind, and VALUE is not known */
	double value, threshold;
	char why[160]; /* RULE_UNKNOWN: what is missing; RULE_SILENT: why in spite of VALUE, or ""
	                */
};

struct findings {
	struct finding *items; /* those that no other one covers come first, each group by saving */
	size_t count, shown;   /* SHOWN of them are not covered */
	struct rule_answer *answers; /* [rule] */
	size_t answer_count;
	uint64_t from_ns; /* of the steady state, since the start of the run */
	uint64_t wall_ns; /* of which that is */
};

/* LIMITS may be NULL. Texts are the profile's. NULL on error. */
struct findings *query_findings(const struct profile *p, const struct query *query,
                                const struct rule_limits *limits, struct error *err);
void findings_free(struct findings *findings);

CLEANUP(findings, struct findings *, findings_free)
