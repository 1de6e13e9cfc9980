/* SPDX-License-Identifier: MIT */
/*
 * What tests of findings share: one profile, and the rules asked about it.
 */
#pragma once

#include "merge/rules/finding.h"
#include "tests/unit/merge_fixture.h"

extern struct fixture f;

/* For TestSuite(); a test that wants another profile calls end() and begin(). */
void begin(void);
void end(void);

/* Names everything, and says that the run ended after WALL_MS, on CPUS. */
void finish(uint64_t wall_ms, uint32_t cpus);
void finish_now(void);

/* The findings of all of the run; LIMITS may be NULL. None of them may claim more than the tables
   of the same profile hold. */
struct findings *look(const struct rule_limits *limits);

/* NULL if it has not fired. */
const struct finding *finding_of(const struct findings *findings, const char *id);
const struct rule_answer *answer_of_rule(const struct findings *findings, const char *id);

/* A rule on what stacks do: STACK, of METRIC, is charged to LINE. */
struct planted {
	const char *id;
	enum metric metric;
	const char *stack;
	int line;
};

/* All that stands at LINE is in the loop FACT. Once it is named. */
void put_in_loop(uint32_t line, const char *fact);

/* It is silent at its threshold, and fires above it. */
void expect_planted(const struct planted *planted);

/* The same where the line is in the loop FACT. */
void expect_planted_in(const struct planted *planted, const char *fact);

/* Calls of an op of NVTX's for MS ms each, now. */
void call(const char *name, uint64_t ms);
void calls(const char *name, unsigned count, uint64_t ms);
