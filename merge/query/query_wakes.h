/* SPDX-License-Identifier: MIT */
/*
 * Who ended single waits, for timelines: beside struct slice_reader, which gives the waits.
 *
 *	writer  ──┤ waits for a mutex  ├──          the wait of writer, from its begin …
 *	flusher ────────────────────────▲───        … to the thread that let it go on
 *
 * Profiles keep who waited for whom by place (merge/query/query_waits.h) and not wait by wait: of
 * those whom the thread has waited for at that place, it is the one that was not blocked itself
 *when the wait ended; of several, the one that it has waited for most. Nobody is named where none
 *was.
 *
 * Waits that are open are remembered, no others. One thread at a time.
 */
#pragma once

#include "base/cleanup.h"
#include "merge/query/query_slices.h"

#include <stdbool.h>
#include <stdint.h>

struct error;

struct wake {
	uint64_t begin_ns, end_ns; /* of the wait, since the start of the run */
	uint32_t waiter, waker;    /* threads, as of slice_reader_thread() */
	uint64_t tag;              /* see wakes_add() */
};

struct wakes;

/* P must outlive it. NULL on error. */
struct wakes *wakes_new(const struct profile *p, struct error *err);
void wakes_free(struct wakes *w);

CLEANUP(wakes, struct wakes *, wakes_free)

/* ROW is the next one of a reader, after wakes_next() has no more up to its begin. TAG comes back
   with its wake. False if there is no memory. */
bool wakes_add(struct wakes *w, const struct slice_row *row, uint64_t tag);

/* The next one, in the order of ends, of those that end by UNTIL_NS; false: there is none. */
bool wakes_next(struct wakes *w, uint64_t until_ns, struct wake *wake);
