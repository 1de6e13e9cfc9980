/* SPDX-License-Identifier: MIT */
/*
 * The samples of a thread for the Firefox Profiler: the parts of its time, each at a moment.
 *
 * A sample stands where its part is within the bin that this was in: one after the other, in the
 * order of the stacks. Where threads are told as one, the bin has room for each in proportion. What
 * goes on through many bins is one sample.
 */
#pragma once

#include "cli/export/firefox.h"

#include <stdbool.h>

struct firefox_sample {
	uint64_t begin_ns, ns;
	size_t node;
	enum metric metric;
};

struct firefox_samples {
	struct firefox_sample *samples; /* in order of their begin */
	size_t count, capacity;
};

/* False if there is no memory. S is empty before. */
bool firefox_samples_place(struct firefox_samples *s, const struct firefox *f,
                           const struct stack_thread *thread);
void firefox_samples_fini(struct firefox_samples *s);

static inline void firefox_samples_at_scope_end(struct firefox_samples *s)
{
	firefox_samples_fini(s);
}
