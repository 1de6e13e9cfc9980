/* SPDX-License-Identifier: MIT */
/*
 * Many profiles into one: ranks of a job, processes of a batch, one after the other.
 *
 * Each is added and may then be freed: what is kept grows with the distinct call paths, functions
 * and ops, and by a row for each profile, not with their number. Up to MERGER_APART profiles keep
 * their processes and threads apart, with their rank behind the name, or with their place if the
 * number of a rank is there twice; of more, the first alone does, and those of the others that are
 * called alike share a row. A merged profile is as many as it was made of.
 *
 * Sums stay what they are, to the nanosecond. Times of a profile are moved by one number, so that
 * those of one host stand where they were, and those of several where their clocks say; runs that
 * do not overlap are laid over each other at their starts. Where a bin of time falls into two,
 * it goes to the one that its middle is in, or, if it is the wider one, in parts to all. One thread
 * at a time.
 */
#pragma once

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct profile;

#define MERGER_APART 64
#define MERGER_RANKS 65536 // those from there on are taken for different ones

/* What must be known of all of them before the first is added. */
struct merge_plan {
	size_t count;
	bool by_start;     /* at their starts: some do not overlap */
	uint64_t first_ns; /* the earliest start, since the epoch */
	uint64_t earliest_end_ns, latest_start_ns, last_ns;
	uint32_t ranks;    /* as many as count, and more if some are merged already */
	uint64_t slices;   /* of all */
	uint32_t timeline; /* that are kept of them, as profile_set_timeline() */
	bool by_place; /* they are called by their places among all, as several jobs have ranks of
	                  the same number */
	uint64_t numbers[MERGER_RANKS / 64]; /* bits: there is a rank of that number */
};

/* FACTS is one of them, or what profile_read_run() has read of it. */
void merge_plan_add(struct merge_plan *plan, const struct profile *facts);

struct merger;

/* PLAN is complete. */
struct merger *merger_new(const struct merge_plan *plan, struct error *err);
void merger_free(struct merger *m);

CLEANUP(merger, struct merger *, merger_free)

/* PART is only read. */
int merger_add(struct merger *m, const struct profile *part, struct error *err);

/* One more could not be read: the limits say so. */
void merger_leave_out(struct merger *m);

/* The one profile; the merger is done with. NULL on error. */
struct profile *merger_finish(struct merger *m, struct error *err);
