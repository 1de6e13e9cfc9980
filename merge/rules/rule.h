/* SPDX-License-Identifier: MIT */
/*
 * The rules by which a profile is judged: what is measured, from where on it is too much, why it
 * matters and what to do.
 *
 * A rule is data. Each subject has a table of them in a file of its own, merge/rules_*.c, beside
 * the functions that measure; nobody else knows one by name. Ids are stable: scripts use them.
 *
 * The rules live as long as the program and may be read in any thread; a struct rule_limits is its
 * maker's, who frees it, and one thread's at a time.
 */
#pragma once

#include "base/cleanup.h"
#include "merge/rules/activity.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct evidence;
struct finding;

enum severity {
	SEVERITY_INFO,  /* worth knowing */
	SEVERITY_WARN,  /* worth changing */
	SEVERITY_ERROR, /* what was measured cannot be trusted */
	SEVERITY_COUNT
};

enum rule_unit {
	UNIT_PERCENT,
	UNIT_COUNT,
	UNIT_RATIO, /* "1.5 times" */
	UNIT_SECONDS
};

enum rule_subject {
	RULES_QUALITY,
	RULES_WARMUP,
	RULES_CPU,
	RULES_IO,
	RULES_MEMORY,
	RULES_PYTHON,
	RULES_OPS,
	RULES_GPU,
	RULES_RANKS,
	RULE_SUBJECTS
};

#define RULE_WITHIN_MAX 12

enum measured {
	MEASURED,
	MEASURED_NOTHING, /* the run is not of the kind that the rule is about */
	MEASURED_LACKS    /* the profile does not hold what it takes: the fact says what */
};

/* What to do where a finding's place calls a function with CALLEE in its name. */
struct rule_callee {
	const char *callee, *advice;
};

struct rule {
	const char *id; /* "CPU-LOCK" */
	enum rule_subject subject;
	enum severity severity;
	enum rule_unit unit;
	double threshold; /* fires when the value is above it */
	double severe;    /* above this it is one severity worse; 0: never */
	bool below;       /* fires when the value is below the threshold */
	bool potential;   /* what it says could be saved is what more CPUs
	                     could give, not time that was spent in a place */
	bool once;        /* paid at the start, however long the run is */
	double part;      /* of the time that it finds, what can be saved at most; 0: all of it */
	const char *part_from; /* where PART comes from, in words; NULL if it is 0 */
	bool whole_run;        /* else on what is asked for, without the warm-up */
	bool narrows;          /* WHOLE_RUN; but where a window is asked for, on that */
	bool otherwise;        /* of code itself: a finding that says why its place runs at all, or
	                          who waits for it, says more */
	bool blocks;           /* it says that a wait at its place keeps others from their work: it
	                          is no idleness */
	bool tasks;            /* it is about tasks, which threads run in turns: where these wait
	                          for one is no place of the program's, and no idleness */
	bool orders;           /* it says why threads do the work of a place in turns */
	bool inside;           /* what a program does for what it was asked to do: of one that the
	                          system brought, that is up to what its user asks for */
	bool uneven;           /* it says that threads share the work of a place unevenly: that the
	                          place takes long is the same fact */
	const char *within[RULE_WITHIN_MAX]; /* ids of more general rules: what this one finds is
	                                        part of what they find */
	const char *title;                   /* what it finds, in a few words */
	const char *formula;                 /* what the value is, in words */
	const char *why;
	const char *advice; /* what to do, as a sentence; a finding may know better */
	const struct rule_callee *by_callee; /* advice that says more, the first that fits; the
	                                        last one's CALLEE is NULL. NULL: there is none */
	const char *source;                  /* where the threshold comes from */

	/* Finds out the value of FINDING, and what else it says. */
	enum measured (*measure)(const struct evidence *evidence, const struct rule *rule,
	                         struct finding *finding);
	/* For rules on what stacks do, see merge/rules/activity.h. */
	activity_set doing, not_doing; /* any of the first and none of the second */
	activity_set whole_places;     /* all that is done in places that do more of these than of
	                              ops that take long */
	uint32_t metrics;              /* bits of enum metric; 0: all */
	bool placed;                   /* only what the user's own code does, where it has any */
};

/* All rules, in the order of their subjects. */
size_t rule_count(void);
const struct rule *rule_at(size_t index);

/* Its index; rule_count() if there is none. Case does not matter. */
size_t rule_find(const char *id);

/* -1 with a line that says so in ERR, and the id that was probably meant. */
int rule_unknown(const char *id, struct error *err);
/* The hint alone, for an ERR that says what is wrong; -1. */
int rule_hint(const char *id, struct error *err);

const char *severity_name(enum severity severity); /* "info", "warn", "error" */
/* False if NAME is none. */
bool severity_parse(const char *name, enum severity *severity);

/* Thresholds of the user's own. */
struct rule_limit {
	double threshold, severe;
	bool off;
};
struct rule_limits {
	struct rule_limit *limits; /* [rule] */
};

/* Those of the rules. NULL if there is no memory. */
struct rule_limits *rule_limits_new(struct error *err);
void rule_limits_free(struct rule_limits *limits);

CLEANUP(rule_limits, struct rule_limits *, rule_limits_free)

/*
 * Takes "ID=VALUE", "ID=VALUE,SEVERE" or "ID=off". -1 with one line in ERR.
 */
int rule_limits_set(struct rule_limits *limits, const char *text, struct error *err);
