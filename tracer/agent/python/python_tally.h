/* SPDX-License-Identifier: MIT */
/*
 * Calls of functions, counted exactly, as cProfile counts them: all calls of each function, and
 * those from each caller, with how many of them were recursive, which is while the same function
 * (or the same one from the same caller) was open already.
 *
 * Each thread has a table of its own with the stack of what it has open, so nothing is locked:
 *
 *	frames   main > work > leaf
 *	tallies  (all, work)  (all, leaf)  (main, work)  (work, leaf)
 *
 * An end that does not fit, as of what was open before counting began or a greenlet left open,
 * ends what is above the frame it fits, or nothing. Tables of threads that have ended are handed on
 * to new threads. A table is written by its thread; others may read it at any time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TALLY_ALL UINT32_MAX /* a caller: from wherever */

struct tally {
	uint32_t caller, callee; /* functions, by numbers from 1 on */
	uint32_t all;            /* the callee's tally of all callers */
	uint32_t open;
	uint64_t calls, recursive;           /* atomic */
	uint64_t told_calls, told_recursive; /* the reader's */
};

/* A call of FUNCTION, which KEY stands for at its end, by the calling thread. */
void tally_begin(uint32_t function, uintptr_t key);
void tally_end(uintptr_t key);

/* Has a call not been counted, as there was no memory? */
bool tally_is_lacking(void);

/* VISIT is called with each tally of all threads, until it answers false. False: it has. */
bool tally_each(bool (*visit)(void *context, struct tally *t), void *context);

/* In a forked child: what was counted was its parent's. */
void tally_fork(void);
