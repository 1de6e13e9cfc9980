/* SPDX-License-Identifier: MIT */
/*
 * A window of the run as bins: of a profile's cells, in which times are kept.
 *
 * A bin is in the window as a whole or not at all: its start decides. For the files of merge/
 * alone.
 */
#pragma once

#include "merge/profile/profile_parts.h"

struct window {
	uint32_t first_bin, end_bin; /* from the one up to, but without, the other */
};

/*
 * What a query's limits leave out of what was recorded; 0: nothing. Bins at the ends of a recording
 * reach beyond it, and hold nothing else. Since the start of the run.
 */
struct window_limits {
	uint64_t from_ns, to_ns;
};
struct window_limits window_limits(const struct profile *p, uint64_t from_ns, uint64_t to_ns);

/* FROM_NS and TO_NS are since the start of the run; TO_NS 0: to its end. */
struct window window_of(const struct profile *p, uint64_t from_ns, uint64_t to_ns);

/* When BIN begins, since the start of the run. */
uint64_t window_bin_start(const struct profile *p, uint32_t bin);
