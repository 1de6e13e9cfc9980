/* SPDX-License-Identifier: MIT */
/*
 * The cycles of a schedule in a run: which steps are active in them, and their windows.
 *
 * Of a run that was recorded by the schedule they are those that were recorded; else they are found
 * in its steps (merge/query/query_steps.h), as far as these are kept one by one.
 */
#pragma once

#include "base/cleanup.h"
#include "base/schedule.h"
#include "merge/query/query_step_parts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

struct cycle_row {
	uint64_t number;           /* from 1 */
	uint64_t first, steps;     /* the number of its first step, and how many it has */
	uint64_t begin_ns, end_ns; /* of its window, since the start of the run */
	bool complete;             /* it has as many steps as the schedule wants */
	uint64_t steps_ns;         /* sum of its steps that are known one by one */
	uint64_t known;            /* how many of them those are */
	struct step_parts parts;   /* of those of them whose parts are known */
	uint64_t parts_known;
};

struct cycles {
	struct cycle_row *rows;
	size_t count;
	bool cut;         /* more may follow: later steps are averages */
	const char *name; /* of the op whose calls are the steps; NULL: there are none */
};

/* SCHEDULE NULL: that of the recording; then there are none without one. STEPS: a glob, or NULL.
   NULL on error. */
struct cycles *query_cycles(const struct profile *p, const char *schedule, const char *steps,
                            struct error *err);
void cycles_free(struct cycles *c);

CLEANUP(cycles, struct cycles *, cycles_free)
