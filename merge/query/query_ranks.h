/* SPDX-License-Identifier: MIT */
/*
 * The ranks of a merged profile beside each other: who works most, who waits, and in which
 * functions they differ.
 *
 * A straggler is the rank that works most, if that is a tenth more than the median of the others,
 * and these wait for half of the difference, or more, longer than it does: in calls of MPI, even
 * where those turn round on a CPU, or for anything else.
 *
 * Where ranks meet (merge/table/meetings.h), it is exact for whom they wait: for who comes last, as
 * long as the others have been there on average.
 */
#pragma once

#include "base/cleanup.h"
#include "merge/table/meetings.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RANKS_SKEW 0.1 /* of the median of the others */

struct error;
struct profile;

struct rank_row {
	uint32_t number;
	bool numbered; /* by a launcher; else it is the place among the files, from 0 */
	const char *host, *command; /* NULL if unknown */
	int exit_status;            /* of wait(2) */
	uint64_t start_ns;          /* since the start of the first */
	uint64_t wall_ns;
	uint64_t busy_ns; /* on a CPU, outside of MPI */
	uint64_t mpi_ns;  /* in calls of MPI, working and waiting */
	uint64_t wait_ns; /* waiting for anything else */
	uint64_t steps, step_median_ns;
	const char *function; /* where most of busy_ns went; NULL if unknown */
	uint64_t last;        /* meetings that it came last to */
	uint64_t held_ns;     /* that the others waited for it there */
	uint64_t meetings;    /* by which its clock is known; below MEETINGS_LEAST it is not: */
	int64_t ahead_ns;     /* that it was ahead of the first rank's */
	uint64_t residual_ns; /* and how exact that is */
};

/* A meeting at which the others waited long. */
struct rank_meeting {
	const char *op;
	uint64_t end_ns;    /* since the start */
	uint64_t step;      /* of who came last, from 1; 0: unknown */
	uint32_t rank;      /* who came last: index of the row */
	uint64_t waited_ns; /* the others, on average */
};

#define RANK_MEETINGS 8

/* A function on whose CPU time ranks differ. */
struct rank_skew {
	const char *function, *module; /* MODULE: NULL if it has none */
	uint32_t rank;                 /* index of the row that has most */
	uint64_t most_ns, median_ns;   /* MEDIAN: of the others */
};

struct rank_rows {
	struct rank_row *rows; /* those that work most first */
	size_t count;
	size_t hosts;
	uint64_t median_busy_ns;         /* of all but the first row */
	bool straggles;                  /* the first row does */
	uint64_t excess_ns;              /* that it works longer than that */
	uint64_t waited_ns;              /* that the others wait longer than it: the median */
	const struct rank_skew *because; /* of those below: the straggler's first; NULL: none */
	size_t slowest;                  /* row with the longest median step */
	double step_ratio; /* of that to the median of the others'; 0: there are no steps */
	uint64_t meetings; /* of all ranks */
	uint64_t held_ns;  /* that at these the others waited for who came last */
	size_t latest;     /* row for which they waited most; of no meaning without HELD_NS */
	struct rank_meeting worst[RANK_MEETINGS]; /* most waited_ns first */
	size_t worst_count;
	struct rank_skew *skews; /* most excess first */
	size_t skew_count;
};

/* Texts are the profile's. No rows if it is not merged. NULL on error. */
struct rank_rows *query_ranks(const struct profile *p, struct error *err);
void rank_rows_free(struct rank_rows *rows);

CLEANUP(rank_rows, struct rank_rows *, rank_rows_free)
