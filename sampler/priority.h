/* SPDX-License-Identifier: MIT */
/*
 * The collector's place in the queue for a CPU.
 *
 * Events wait in rings of fixed size. Behind five hundred threads that want a
 * CPU the collector, as one of many, gets its turn after half a second, however
 * nice they are; by then the rings have run over. So it asks for a real-time
 * priority while it has to wait for a CPU, and else for the best of the
 * ordinary ones: the kernel looks for an idle CPU for a thread of these, while
 * one of real time takes the CPU that it was on last, from the target. Who may
 * not ask does without.
 *
 * The calling thread alone is meant. What it forks starts with no better
 * priority than an ordinary process.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct priority {
	bool asked;     /* and not given back yet */
	int own_nice;   /* the caller's own */
	bool real_time; /* may be had */
	bool urgent;    /* now */
	/* How long it has waited for CPUs in its life, and when that was asked; 0: never. */
	uint64_t delay_ns, looked_ns;
	uint64_t late_ns; /* when it had last waited for too long; 0: never */
};

/* Whether the caller has a real-time priority, or would get it by priority_urgent(). */
bool priority_may(void);

/* Eager from now on. */
void priority_ask(struct priority *p);

/*
 * Urgent: never around a call that spins until another task has gone on.
 * Reaping the target is one: the kernel then drops what /proc knows of it, and
 * spins while a thread of the target, from whom we took the CPU, does the same.
 */
void priority_urgent(struct priority *p);

/*
 * Whether the caller waits for CPUs, or did in the last second: for more than
 * a tenth of the time between two calls 20 ms apart or more. So where the
 * kernel does not count. NOW_NS is of clock_now_ns().
 */
bool priority_is_late(struct priority *p, uint64_t now_ns);

/* The best of the ordinary priorities. */
void priority_eager(struct priority *p);

/* As it was before priority_ask(). May be called again. */
void priority_give_back(struct priority *p);
