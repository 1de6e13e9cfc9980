/* SPDX-License-Identifier: MIT */
/*
 * The collector's place in the queue for a CPU.
 *
 * Events wait in rings of fixed size. Behind five hundred threads that want a
 * CPU the collector, as one of many, gets its turn after half a second, however
 * nice they are; by then the rings have run over. So it asks for a real-time
 * priority while the target runs, and for the rest of its work for the best of
 * the ordinary ones. Who may not ask does without.
 *
 * The calling thread alone is meant. What it forks starts with no better
 * priority than an ordinary process.
 */
#pragma once

#include <stdbool.h>

struct priority {
	bool asked;     /* and not given back yet */
	int own_nice;   /* the caller's own */
	bool real_time; /* may be had */
	bool urgent;    /* now */
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

/* The best of the ordinary priorities. */
void priority_eager(struct priority *p);

/* As it was before priority_ask(). May be called again. */
void priority_give_back(struct priority *p);
