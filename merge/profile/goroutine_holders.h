/* SPDX-License-Identifier: MIT */
/*
 * Whom goroutines wait for, from what all of them did at the same time.
 *
 *	main      WaitGroup.Wait ─┐
 *	worker 7x Mutex.Lock ─────┼─► worker  sleep in save(), called by update(), which has called
 *	                          │           Lock() in the others
 *	                          └─► the one that waits for no other goroutine
 *
 * Go's runtime does not know who holds a mutex, or who is to send. A goroutine that waits for a
 *lock in a function waits for those that are elsewhere in that function, or in what that calls; one
 *that waits for anything else, for those that wait for no other goroutine, if that is only one.
 *
 * Functions without state, for the files of merge/ alone.
 */
#pragma once

#include "merge/op/awaits.h"
#include "merge/op/goroutine_looks.h"

#include <stdbool.h>
#include <stdint.h>

enum goroutine_act {
	GOROUTINE_ASIDE,  /* it is the runtime's, or waits for what no goroutine is to do */
	GOROUTINE_WORKS,  /* it runs, wants to, or is in a call */
	GOROUTINE_RESTS,  /* it sleeps, or waits for a file or socket */
	GOROUTINE_SERVES, /* it waits for requests from outside */
	GOROUTINE_LOCKS,  /* it waits for a mutex */
	GOROUTINE_AWAITS  /* it waits for others in another way */
};

/* What goroutines of one row do. */
struct goroutine_doing {
	enum goroutine_act act;
	bool is_main;
	bool wakes;                /* it works, but still in what it has waited in */
	struct await_place kind;   /* the function that they run */
	struct await_place place;  /* the innermost one of the user's own; function 0: not known */
	uint32_t reason;           /* string: why it waits, or what it does */
	const uint32_t *functions; /* strings: all of its stack, outermost first; borrowed */
	uint32_t function_count;
};

/*
 * Adds rows AWAIT_HELD and AWAIT_HELD_WALL to AWAITS: see base/await.h. DOING is by the numbers of
 * the looks' rows. False if there is no memory.
 */
bool goroutine_holders_add(const struct goroutine_looks *looks, const struct goroutine_doing *doing,
                           struct awaits *awaits);
