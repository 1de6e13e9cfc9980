/* SPDX-License-Identifier: MIT */
/*
 * Who had the CPUs while threads were ready to run: the quota of a control group, other threads of
 * the program, or others.
 *
 *   - quota: the group was throttled, by the clock (merge/record/cgroup.h). That comes first, as
 *     nothing of the group runs then.
 *   - own threads: what would remain without anybody else: threads that run or could, beyond the
 *     CPUs that the program may use, or that they are bound to. Nothing, if there never were more
 *     threads than CPUs.
 *   - others: the rest, but no more than other processes and hypervisors ran on these CPUs.
 *   - nobody: what is left, and of what the program's own threads would have the part in which one
 *     of the CPUs was idle: a thread that is woken waits for the CPU of who woke it, or for that it
 *     is bound to, beside an idle one.
 *
 * It is asked row by row of the table of contention, and so as fine as that.
 */
#pragma once

#include "merge/profile/profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

struct contention_parts {
	/* of the time that was waited for a free CPU: all of it */
	uint64_t quota_ns, own_ns, others_ns, nobody_ns;
};

struct contention_answer {
	struct contention_parts critical; /* of the critical thread, query_account_in() */
	struct contention_parts all;      /* of all threads together */
	uint64_t idle_ns;                 /* CPU time of those that it may use that nobody had */
	uint64_t throttled_ns;            /* by the clock, whether anybody wanted to run or not */
	uint64_t stalled_ns;              /* some task of the group waited for memory */
};

/* FROM_NS and TO_NS as in struct query. */
int query_contention(const struct profile *p, uint64_t from_ns, uint64_t to_ns,
                     struct contention_answer *answer, struct error *err);

/* [bin of profile_cells()]: of the time that threads waited for a CPU in it, the part whose CPUs
   other threads of the program had; 0 outside of the window. NULL on error; for free(). */
double *query_contention_own(const struct profile *p, uint64_t from_ns, uint64_t to_ns,
                             struct error *err);

/* The critical thread waited for READY_NS, as somebody knows better: its parts are of that. */
void contention_share(uint64_t ready_ns, struct contention_answer *answer);

/* A control group with a quota of CPU time. */
struct quota_group {
	uint64_t quota_us, period_us;        /* CPU time in each period of time */
	uint64_t periods, throttled_periods; /* while the program was in it */
	uint64_t throttled_ns;               /* of its run queues together, as cpu.stat has it */
	uint64_t wall_ns;                    /* the same, by the clock */
	char name[512];
};

#define QUOTA_GROUPS 16

/* Those of RUN, innermost first. Lines that are none are left out. */
size_t query_quota_groups(const struct run *run, struct quota_group groups[QUOTA_GROUPS]);
