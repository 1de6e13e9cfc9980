/* SPDX-License-Identifier: MIT */
/*
 * Who had the CPUs that the program may use, by time: plain values, no memory but their own.
 *
 * A row holds what was counted since the one before it. Where there is no room for another, pairs
 * become one, and so many more are then put together. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONTENTION_MAX  128   /* rows that are kept */
#define CONTENTION_TEXT 16384 /* bytes that the text of all of them may take */

struct contention_row {
	uint64_t at_us;        /* since the start of the run: when it ends */
	uint64_t throttled_us; /* by the clock, by quotas of control groups */
	uint64_t queues_us;    /* the same, summed over run queues, as cpu.stat has it */
	uint64_t busy_us;      /* CPUs that the program may use, by whoever, and by hypervisors */
	uint64_t stalled_us;   /* some task waited for memory of its control group */
};

struct contention {
	struct contention_row rows[CONTENTION_MAX]; /* in order */
	uint32_t count;
	uint32_t together; /* so many that were added make one that is kept; 0: one */
	uint32_t open;     /* of them in the last one */
};

/* A row that does not end after the last one is added to it. */
void contention_add(struct contention *c, const struct contention_row *row);

/* "100000:75000:150000:99000:0 …": the fields in order; "" if there are none. */
void contention_print(const struct contention *c, char text[CONTENTION_TEXT]);

/* False, with nothing in C, if TEXT, which may be NULL, is not what contention_print() makes. */
bool contention_parse(struct contention *c, const char *text);
