// SPDX-License-Identifier: MIT
#include "sampler/thinning.h"

// From a half to one and a half periods.
static uint64_t next_due(struct thinning *t)
{
	t->random = t->random * 1664525 + 1013904223; // Numerical Recipes; its upper bits are good
	return t->period_ns / 2 + (t->period_ns * (t->random >> 16) >> 16);
}

bool thinning_takes(struct thinning *t, uint32_t tid, const struct event_sample *sample,
                    uint64_t *weight_ns)
{
	*weight_ns = sample->weight_ns;
	if (!t->period_ns || sample->kind != SAMPLE_ON_CPU)
		return true;

	struct thinned_thread *thread = &t->threads[tid & (THINNING_THREADS - 1)];
	if (thread->tid != tid || !thread->due_ns)
		*thread = (struct thinned_thread){ .tid = tid, .due_ns = next_due(t) };
	thread->left_ns += sample->weight_ns;
	// The sample before may have been as near.
	if (thread->left_ns + sample->weight_ns / 2 < thread->due_ns)
		return false;
	*weight_ns = thread->left_ns;
	thread->left_ns = thread->due_ns = 0;
	return true;
}
