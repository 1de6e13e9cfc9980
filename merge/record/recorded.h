/* SPDX-License-Identifier: MIT */
/*
 * Which part of the run is recorded: --delay, --duration, --range, and --schedule with --steps.
 *
 *	run      |-----------------------------------------------|
 *	delay    |--------|
 *	duration          |--------------------------|
 *	range         |######|     |######|       |######|          calls of the op
 *	spans             |##|     |######|       |##|               what is recorded
 *
 * With a schedule a span goes from the beginning of a cycle's first active step to that of the step
 * behind its last one; after the last step of the run, where steps follow each other closely, to
 * its end. Steps are the calls of the ops that STEPS means, in the thread that makes the first one.
 *
 * Processes and threads are followed all the same. One thread at a time.
 */
#pragma once

#include "base/schedule.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct ops;
struct run;

/* So many of the last spans are known: longer waits are cut to these. */
#define RECORDED_SPANS 1024

/* So many of the first cycles are listed in the profile. */
#define RECORDED_CYCLES 4096

/* Steps whose calls take less of the time than this go from one call to the next. */
#define RECORDED_COVERED 0.6

struct recorded_span {
	uint64_t from_ns, to_ns; /* CLOCK_MONOTONIC; to UINT64_MAX: still going on */
};

struct recorded {
	uint64_t from_ns, to_ns; /* CLOCK_MONOTONIC: the limits of all spans */
	const char *range;       /* glob; NULL: one span, or those of a schedule */
	const char *steps;       /* glob; NULL: no schedule */
	const char *text;        /* of the schedule */
	struct schedule schedule;
	const struct ops *ops; /* borrowed */
	uint8_t *known;        /* [op id - 1]: whether RANGE means it: 0 unknown, 1 yes, 2 no */
	size_t known_capacity;
	uint32_t open;                              /* calls of such ops */
	struct recorded_span spans[RECORDED_SPANS]; /* a ring */
	size_t count;                               /* of all spans there were */
	uint64_t sum_ns;                            /* of those that have ended */
	uint64_t first_ns;                          /* where the first one began */
	/* Of recorded_gate(): */
	uint64_t start_ns;   /* of the run */
	bool starts_stopped; /* nothing is recorded before the first gate opens */
	bool stopped;        /* now */
	uint64_t gates;      /* that have opened or closed */
	uint64_t overruled;  /* that had no effect as a range or a schedule says what is recorded */
	uint64_t open_again_ns; /* the first that opened while all was recorded, since the start */
	/* Of a schedule: */
	uint32_t thread;                      /* whose calls are the steps; 0: there was none yet */
	uint64_t step;                        /* the number of the last one that began */
	uint64_t cycle;                       /* that is active; 0: none is */
	uint64_t first_step_ns, last_step_ns; /* where they began */
	uint64_t steps_ns, last_end_ns;       /* of those that have ended */
	struct schedule_cycle *cycles;        /* times of CLOCK_MONOTONIC; the last may be open */
	size_t cycle_count, cycle_capacity;
	char *cycles_text;
};

/* What is asked for; 0 and NULL: no limit. OPS and RANGE are borrowed. Zeroed, all is recorded. */
void recorded_init(struct recorded *r, uint64_t delay_ns, uint64_t duration_ns, const char *range,
                   const struct ops *ops);
void recorded_fini(struct recorded *r);

/* Only the active steps of SCHEDULE, which TEXT says, are recorded: before the run begins. -1 if
   TEXT is none. STEPS, a glob, and TEXT are borrowed. */
int recorded_schedule(struct recorded *r, const char *text, const char *steps, struct error *err);

/* Nothing is recorded until recorded_gate() says so: before the run begins. */
void recorded_start_stopped(struct recorded *r);

/*
 * The program has said that from now on all is recorded, or nothing, in whichever of its threads
 * and processes. Where a range or a schedule says what is recorded that has no effect.
 */
void recorded_gate(struct recorded *r, bool open, uint64_t time_ns);

/* The run begins now: before that nothing is recorded if anything is asked for. */
void recorded_start(struct recorded *r, uint64_t start_ns);

/* Whether only a part is recorded. */
bool recorded_is_partial(const struct recorded *r);

/* Calls of ops, in the order of time. */
void recorded_op_begins(struct recorded *r, uint32_t op, uint32_t thread, uint64_t time_ns);
void recorded_op_ends(struct recorded *r, uint32_t op, uint32_t thread, uint64_t time_ns);

/* Whether calls of OP are the steps of a schedule, which are all recorded. */
bool recorded_is_step(struct recorded *r, uint32_t op);

bool recorded_has(const struct recorded *r, uint64_t time_ns);

/*
 * The next part, from *AT on, of what is recorded of the time up to END_NS: moves *AT behind it.
 * False if there is none.
 */
bool recorded_next(const struct recorded *r, uint64_t *at_ns, uint64_t end_ns,
                   struct recorded_span *part);

/* Tells RUN, whose times are known, what was recorded of it. Its texts are good until the next
 * time. */
void recorded_tell(struct recorded *r, struct run *run);
