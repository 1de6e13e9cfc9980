/* SPDX-License-Identifier: MIT */
/*
 * What waits for a CPU add to the price of code: who had the CPUs meanwhile.
 *
 * Wall time by owner (merge/wall/wall.h) has contention beside what was run and what was blocked
 *on: the thread that the run waited for was ready to run, and no CPU was free. Of that, what the
 * program's own threads caused (merge/query/query_contention.h) would go with what those ran. So
 *each place of the program has, beside its wall time, a part of it:
 *
 *	price(P) = W(P) + sum over stretches s of Q(s) * C(P, s) / C(s)
 *
 *	W(P)     wall time of P, on CPUs and blocked
 *	Q(s)     wall time in stretch s of waits for CPUs that the program's own threads had
 *	C(P, s)  CPU time of all threads in P in that stretch; C(s): of them in all code
 *
 * Each Q(s) is shared out once: prices of places that have no time in common sum to no more than
 *wall time, and those of all places to wall time less what quotas and other processes took of it.
 *Where all threads do the same work, beyond the CPUs, its price is all of the time that it takes.
 *
 * A window is cut into stretches of QUEUE_STRETCH_NS or longer, QUEUE_STRETCHES at most. One thread
 *at a time. For merge/rules alone.
 */
#pragma once

#include "base/cleanup.h"
#include "merge/query/query_contention.h"

#include <stdint.h>

struct cell;
struct error;
struct query;
struct scope;

#define QUEUE_STRETCHES  64
#define QUEUE_STRETCH_NS UINT64_C(20000000)

struct queue;

/*
 * SCOPE is that of all threads in the window of QUERY, WALL that of wall time, or NULL: then the
 * waits of the thread in slot CRITICAL are what the run waited for CPUs. CONTENTION is of the same
 * window. NULL on error.
 */
struct queue *queue_new(const struct scope *scope, const struct scope *wall, uint32_t critical,
                        const struct query *query, const struct contention_answer *contention,
                        struct error *err);
void queue_free(struct queue *queue); /* NULL is fine */

CLEANUP(queue, struct queue *, queue_free)

/* What CELL, of SCOPE's and on a CPU, made the run wait for CPUs, in ns of wall time. Like the time
   of a cell it may be less than 0: sums over all cells of a node are not. */
double queue_ns(const struct queue *queue, const struct cell *cell);
