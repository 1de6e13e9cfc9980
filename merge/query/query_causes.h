/* SPDX-License-Identifier: MIT */
/*
 * What a run did while it warmed up that it did less of, or not at all, later: by samples.
 *
 * Looked at are the time from the first slow call to the end of the last one, and the steady time
 * behind it: all threads on a CPU, and what the first thread waited for, but for a free CPU. Of
 * each cause so much counts as is beyond its share of the steady time, if there is any.
 */
#pragma once

#include "merge/query/query_warmup.h"
#include "merge/warmup/cause.h"

#include <stdint.h>

struct causes {
	uint64_t ns[CAUSE_COUNT]; /* CAUSE_NONE: what is left, the work itself */
	uint64_t all_ns;
	uint64_t samples; /* of the time on a CPU; few of them tell nothing of shares */
};

/* Of the warm-up in ROWS; all 0 if there is none. -1 if there is no memory. */
int query_causes(const struct profile *p, const struct warmup_rows *rows, struct causes *causes,
                 struct error *err);
