/* SPDX-License-Identifier: MIT */
/*
 * What is kept of counters (ops of the category OP_COUNTER): sums over their values, by thread.
 *
 * Values are kept as doubles: whole numbers are exact to 2^53. For the files of merge/ alone. One
 * thread at a time.
 */
#pragma once

#include "base/hash.h"
#include "base/stack.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct counter_sums {
	uint64_t values;  /* that were told; the fields below are of these */
	uint64_t untold;  /* changes whose value is not known, or is no number */
	uint64_t last_ns; /* when the last one was reported */
	double last, min, max, sum;
};

struct counter_entry {
	uint32_t op;     /* id, base/op.h */
	uint32_t thread; /* slot */
	struct counter_sums sums;
};

struct counters {
	struct counter_entry *entries;
	uint32_t count;
	size_t capacity;
	struct hash index;
	uint64_t lost; /* values that found no room */
};

#define COUNTERS_MAX 65536

void counters_fini(struct counters *c);

/* What a change of a counter tells. False if it is no number. */
bool counters_value(const struct op_event *event, double *value);

/* EVENT, a mark of OP in thread SLOT. */
void counters_add(struct counters *c, uint32_t slot, const struct op_event *event);

/* CHANGES whose values nobody knows. */
void counters_miss(struct counters *c, uint32_t slot, uint32_t op, uint64_t changes);

/* The entry of OP and thread SLOT, added if it is new; NULL if there is no room. */
struct counter_entry *counters_get(struct counters *c, uint32_t op, uint32_t slot);

/* Adds FROM's values to TO's. */
void counter_sums_add(struct counter_sums *to, const struct counter_sums *from);
