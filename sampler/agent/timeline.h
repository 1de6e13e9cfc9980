/* SPDX-License-Identifier: MIT */
/*
 * Switch events for a thread whose switches nobody reports.
 *
 * What is known are totals: by time T the thread has run for CPU ns and waited
 * for a CPU for WAIT ns. So it has been off its CPU for the rest, and intervals
 * are laid between the points in time that are known to make the totals come
 * true: lengths and sums are exact, places within a gap are not.
 *
 *	sample             sample                     look, has not run since
 *	  ╵ off ├─── on ─────╵──── on ───┤ off …           ╵ off, open
 *
 * Waits that the thread has reported itself lie where they were; the rest lies beside them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TIMELINE_SWITCHES_MAX 6

/* As WAIT_NS below: all that is to be told is time for which the thread had no CPU. The kernel's
   tick takes a thread off its CPU, and the sample that the same tick has asked for is taken once it
   has one again: so that lies right before the sample. */
#define TIMELINE_NO_CPU UINT64_MAX

struct timeline_switch {
	uint64_t time_ns;
	bool in, preempted;
	bool reported; /* out: it is in the wait that is reported */
};

/* A wait that is known: the thread was off its CPU from BEGIN_NS to END_NS, for the last READY_NS
   of that as it lacked one. */
struct timeline_wait {
	uint64_t begin_ns, end_ns, ready_ns;
};

struct timeline {
	uint64_t start_ns, start_cpu_ns, start_wait_ns;
	uint64_t emitted_ns; /* nothing may be said of the time before any more */
	uint64_t off_ns;     /* in intervals that are closed */
	uint64_t waited_ns;  /* of these, those in which it could have run */
	bool out;
	uint64_t out_since_ns;
};

/* The thread begins, running, with these totals. */
void timeline_start(struct timeline *t, uint64_t now_ns, uint64_t cpu_ns, uint64_t wait_ns);

/*
 * By NOW_NS the thread, which runs, has these totals. Intervals shorter than SLACK_NS wait until
 * they have come together. Returns how many switches are in OUT.
 */
size_t timeline_running(struct timeline *t, uint64_t now_ns, uint64_t cpu_ns, uint64_t wait_ns,
                        uint64_t slack_ns, struct timeline_switch out[TIMELINE_SWITCHES_MAX]);

/* How long the thread has been off its CPU by NOW_NS, of what no switch has said yet. */
uint64_t timeline_off_ns(const struct timeline *t, uint64_t now_ns, uint64_t cpu_ns);

/* From when on switches can still be laid: waits are cut to what comes after that. */
uint64_t timeline_from_ns(const struct timeline *t);

/* WAIT is one that is open already, as far as that is known. */
bool timeline_is_open(const struct timeline *t, const struct timeline_wait *wait);

/*
 * WAIT comes next, after OFF_NS that the thread was off its CPU beside it, or less if there is no
 * time for so much; nothing, if it was over before what has been said already. Totals by NOW_NS of
 * one of the other functions, which comes later than the wait, are to be asked for as they were
 * before.
 */
size_t timeline_waited(struct timeline *t, const struct timeline_wait *wait, uint64_t off_ns,
                       uint64_t wait_ns, uint64_t slack_ns,
                       struct timeline_switch out[TIMELINE_SWITCHES_MAX]);

/* By NOW_NS the thread, which is blocked, has these totals. */
size_t timeline_blocked(struct timeline *t, uint64_t now_ns, uint64_t cpu_ns, uint64_t wait_ns,
                        struct timeline_switch out[TIMELINE_SWITCHES_MAX]);
