/* SPDX-License-Identifier: MIT */
/*
 * Where all ranks of a job meet: collective operations that nobody leaves before everybody has
 * come.
 *
 *	rank 0  work ───┤ MPI_Allreduce           ├ work
 *	rank 1  work ────────────────────┤ MPI_Al ├ work      came last
 *	rank 2  work ────────┤ MPI_Allreduce      ├ work
 *	                                          ▲ the same moment for all
 *
 * That their ends are one moment tells how far clocks are apart; when each has come tells for whom
 * the others wait. All ranks call them in the same order, so that they are distinguished by their
 * place in it. One thread at a time. For the files of merge/ alone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MEETINGS_MAX   16384u
#define MEETINGS_LEAST 3 /* from which clocks can be compared */

struct meeting {
	uint32_t op;      /* string */
	uint32_t ranks;   /* that are known to have been there */
	uint32_t last;    /* who came last: index + 1 */
	uint32_t step;    /* of that one's steps, from 1; 0: unknown */
	uint64_t end_ns;  /* of the first rank's call */
	uint64_t last_ns; /* how long before that the last one came */
	uint64_t sum_ns;  /* the same of all ranks together */
};

struct meetings {
	struct meeting *items;
	uint32_t count;
	size_t capacity;
	bool begun; /* some ranks are known, though they may have no meeting in common */
};

void meetings_fini(struct meetings *m);

/* False if there is no room. */
bool meetings_add(struct meetings *m, const struct meeting *meeting);

/* By how much the clock of OTHER is ahead of M's, as the median says. */
struct meetings_clock {
	uint32_t count; /* by so many; below MEETINGS_LEAST: it is not known */
	int64_t ahead_ns;
	uint64_t residual_ns; /* median of the differences from that */
};

/* False if there is no memory. */
bool meetings_clock(const struct meetings *m, const struct meetings *other,
                    struct meetings_clock *out);

/*
 * M knows of OTHER's ranks as well; of what not both have, nothing is left. One that has not
 * begun becomes OTHER; an empty OTHER has nothing to say. Clocks are one. False if there is no
 * room.
 */
bool meetings_join(struct meetings *m, const struct meetings *other);

/* How long the others have waited for the last one, on average. */
uint64_t meeting_excess_ns(const struct meeting *meeting);

/* Whether nobody leaves the operation of MPI that is called so before all have come. */
bool meeting_is_one(const char *op);
