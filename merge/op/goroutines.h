/* SPDX-License-Identifier: MIT */
/*
 * Goroutines that were looked at, summed by what they did and where, until the run has ended and
 * their functions get names: then they become rows of merge/op/awaits.h.
 *
 * The table owns its rows. One thread at a time. For the files of merge/ alone.
 */
#pragma once

#include "base/hash.h"
#include "base/sampled.h"
#include "merge/op/goroutine_looks.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GOROUTINES_MAX (1u << 14) /* rows; what is seen at more places has none */

/* Goroutines that began in one function. */
struct goroutine_start {
	struct frame frame;
	uint64_t pass, now; /* the last look, and so many were there */
	uint64_t most;
};

struct goroutine_row {
	uint32_t start;        /* index */
	uint32_t state;        /* enum goroutine_state */
	uint32_t reason;       /* string; 0: unknown, or none */
	uint32_t first, count; /* of the frames, innermost first */
	uint64_t ns;
};

struct goroutines {
	struct goroutine_start *starts;
	struct goroutine_row *rows;
	struct frame *frames;
	size_t start_count, start_capacity, row_count, row_capacity, frame_count, frame_capacity;
	struct hash start_index, row_index;
	struct goroutine_looks looks;
};

void goroutines_fini(struct goroutines *g);

/* REASON: EVENT's, as a string. False if there is no memory. */
bool goroutines_add(struct goroutines *g, const struct goroutines_event *event, uint32_t reason);
