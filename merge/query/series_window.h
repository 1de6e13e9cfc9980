/* SPDX-License-Identifier: MIT */
/*
 * What a series tells of the calls that began in a window: exactly, as far as they are kept one by
 * one. For the files of merge/ alone.
 */
#pragma once

#include "merge/numbers/histogram.h"
#include "merge/table/series.h"

struct series_window {
	uint64_t calls, ns, min_ns, max_ns;
	bool averaged; /* some of them are kept as blocks: then there are no durations of those */
};

/* Adds the calls of S from FROM_NS up to, but without, TO_NS (CLOCK_MONOTONIC) to W and DURATIONS,
   which began as zeros. False if there is no memory. */
bool series_window_add(struct series_window *w, struct histogram *durations, const struct series *s,
                       uint64_t from_ns, uint64_t to_ns);
