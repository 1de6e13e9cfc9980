/* SPDX-License-Identifier: MIT */
/*
 * Giving addresses to ranges that may overlap, the latest first.
 *
 * Code that is compiled at run time is replaced at run time: of two ranges that
 * hold an address the one that was written last counts. Ranges are given from
 * the last to the first, and an address keeps the first that it gets; each is
 * visited once, however the ranges overlap.
 *
 * A cover borrows its addresses and owns the rest. One thread at a time.
 */
#pragma once

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cover {
	const uint64_t *addresses; /* ascending */
	size_t count;
	size_t *next_free; /* of each address: itself or one behind it that is free, maybe */
};

/* False if there is no memory. */
bool cover_init(struct cover *cover, const uint64_t *addresses, size_t count);
void cover_fini(struct cover *cover);

/* The next address in [START, START + SIZE) that has no range yet, which it then has; else COUNT.
   Call until it is COUNT. */
size_t cover_take(struct cover *cover, uint64_t start, uint64_t size);
