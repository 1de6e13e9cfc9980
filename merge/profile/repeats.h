/* SPDX-License-Identifier: MIT */
/*
 * Runs of whole commands, one after the other, unprofiled: what "bottleneck bench" measures.
 *
 * A side is a command that is repeated, one of those that are compared. With a range, a run also
 * tells how long the calls of an op took in it. A side may be a statement instead, whose runs are
 * blocks of so many calls. For the files of merge/, which keep and ask them,
 * and for cli/, which adds them. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile;

#define REPEATS_MAX      (1u << 20)
#define REPEAT_SIDES_MAX 128u

struct repeat {
	uint32_t side;               /* from 1 */
	int status;                  /* of wait(2) */
	uint64_t begin_ns;           /* since the start of the first */
	uint64_t wall_ns;            /* from its exec to its end */
	uint64_t user_ns, system_ns; /* of it and of the children that it has waited for */
	uint64_t peak_rss_bytes;     /* of the largest of them */
	/* With a range: */
	uint64_t calls;
	uint64_t calls_ns; /* of all of them */
	uint64_t call_ns;  /* the median of one; of a statement the average of the block */
	uint64_t cost_ns;  /* of recording it, measured in that run, which CALL_NS is without */
	uint32_t cost;     /* enum repeat_cost */
};

/* How far cost_ns is all that a range costs. Stored in profile files. */
enum repeat_cost {
	REPEAT_COST_UNKNOWN, /* nothing was measured; cost_ns is 0 */
	REPEAT_COST_PART,    /* the program's way to the recording and back is not in it */
	REPEAT_COST_WHOLE,
	REPEAT_COSTS
};

/* Stored in profile files. */
enum repeat_language {
	REPEAT_COMMAND, /* no statement */
	REPEAT_PYTHON,
	REPEAT_CXX,
	REPEAT_LANGUAGES
};

struct repeat_side {
	uint32_t command; /* string; the statement */
	uint32_t range;   /* string, a glob; 0: none */
	uint32_t language;
	uint32_t threads;        /* that its libraries were to use; of a command 0: not told */
	uint32_t setup, variant; /* strings; 0: none. A variant is "n = 64" */
};

struct repeat_statement {
	const char *code, *setup, *variant; /* the last two may be NULL */
	enum repeat_language language;      /* no command */
	uint32_t threads;
};

struct repeats {
	struct repeat_side sides[REPEAT_SIDES_MAX];
	uint32_t side_count;
	struct repeat *repeats; /* in the order in which they ran */
	uint32_t count;
	size_t capacity;
};

void repeats_fini(struct repeats *r);

/* One more side; RANGE may be NULL. Its number, 0 if there is no room. */
uint32_t profile_add_repeat_side(struct profile *p, const char *command, const char *range,
                                 uint32_t threads);

/* The same for a statement. */
uint32_t profile_add_statement_side(struct profile *p, const struct repeat_statement *statement);

/* One more run of a side that was added. False if there is no room. */
bool profile_add_repeat(struct profile *p, const struct repeat *repeat);
