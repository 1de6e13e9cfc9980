/* SPDX-License-Identifier: MIT */
/*
 * Questions about counters: what the program has counted, by name. What PyTorch counts of devices
 * is in merge/query/query_devices.h.
 *
 * The answer is of the whole run, whatever window is asked for. It borrows its texts from the
 * profile, which must outlive it.
 */
#pragma once

#include "base/cleanup.h"
#include "merge/profile/profile.h"

#include <stddef.h>
#include <stdint.h>

struct error;
struct query;

struct counter_row {
	const char *name;
	const char *provider; /* "itt", "nvtx" */
	const char *domain;   /* "" if none */
	uint64_t changes;     /* whose values are known; the fields below are of these */
	uint64_t untold;      /* whose values are not */
	double last, min, max, average, sum;
};

struct counter_rows {
	struct counter_row *rows; /* by domain and name */
	size_t count;
	uint64_t lost; /* changes of the run that are in no row */
};

/* Of the threads and processes that QUERY is about. NULL on error. */
struct counter_rows *query_counters(const struct profile *p, const struct query *query,
                                    struct error *err);
void counter_rows_free(struct counter_rows *rows);

CLEANUP(counter_rows, struct counter_rows *, counter_rows_free)
