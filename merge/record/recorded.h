/* SPDX-License-Identifier: MIT */
/*
 * Which part of the run is recorded: --delay, --duration and --range.
 *
 *	run      |-----------------------------------------------|
 *	delay    |--------|
 *	duration          |--------------------------|
 *	range         |######|     |######|       |######|          calls of the op
 *	spans             |##|     |######|       |##|               what is recorded
 *
 * Processes and threads are followed all the same. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ops;
struct run;

/* So many of the last spans are known: longer waits are cut to these. */
#define RECORDED_SPANS 1024

struct recorded_span {
	uint64_t from_ns, to_ns; /* CLOCK_MONOTONIC; to UINT64_MAX: still going on */
};

struct recorded {
	uint64_t from_ns, to_ns; /* CLOCK_MONOTONIC: the limits of all spans */
	const char *range;       /* glob; NULL: one span */
	const struct ops *ops;   /* borrowed */
	uint8_t *known;          /* [op id - 1]: whether RANGE means it: 0 unknown, 1 yes, 2 no */
	size_t known_capacity;
	uint32_t open;                              /* calls of such ops */
	struct recorded_span spans[RECORDED_SPANS]; /* a ring */
	size_t count;                               /* of all spans there were */
	uint64_t sum_ns;                            /* of those that have ended */
	uint64_t first_ns;                          /* where the first one began */
};

/* What is asked for; 0 and NULL: no limit. OPS and RANGE are borrowed. Zeroed, all is recorded. */
void recorded_init(struct recorded *r, uint64_t delay_ns, uint64_t duration_ns, const char *range,
                   const struct ops *ops);
void recorded_fini(struct recorded *r);

/* The run begins now: before that nothing is recorded if anything is asked for. */
void recorded_start(struct recorded *r, uint64_t start_ns);

/* Whether only a part is recorded. */
bool recorded_is_partial(const struct recorded *r);

/* Calls of ops, in the order of time. */
void recorded_op_begins(struct recorded *r, uint32_t op, uint64_t time_ns);
void recorded_op_ends(struct recorded *r, uint32_t op, uint64_t time_ns);

bool recorded_has(const struct recorded *r, uint64_t time_ns);

/*
 * The next part, from *AT on, of what is recorded of the time up to END_NS: moves *AT behind it.
 * False if there is none.
 */
bool recorded_next(const struct recorded *r, uint64_t *at_ns, uint64_t end_ns,
                   struct recorded_span *part);

/* Tells RUN, whose times are known, what was recorded of it. */
void recorded_tell(const struct recorded *r, struct run *run);
