// SPDX-License-Identifier: MIT
#include "sampler/thinning.h"

#include "base/clock.h"

// From a half to one and a half periods.
static uint64_t next_due(struct thinning *t, uint64_t period_ns)
{
	t->random = t->random * 1664525 + 1013904223; // Numerical Recipes; its upper bits are good
	return period_ns / 2 + (period_ns * (t->random >> 16) >> 16);
}

// The period of a thread of which so many samples are taken, in steps of a half; 0: as it comes.
static uint64_t period_after(uint32_t taken)
{
	static const uint32_t rates_hz[] = { 499, 249, THINNING_LEAST_HZ };
	uint32_t last = sizeof(rates_hz) / sizeof(rates_hz[0]) - 1;

	if (taken < THINNING_ENOUGH)
		return 0;
	uint32_t step = (taken - THINNING_ENOUGH) / THINNING_STEP;
	return NS_PER_SEC / rates_hz[step < last ? step : last];
}

// What comes hardly more often anyway is not thinned.
static uint64_t period_of(const struct thinning *t, const struct thinned_thread *thread,
                          uint64_t weight_ns)
{
	uint64_t period = t->enough ? period_after(thread->taken) : 0;

	if (weight_ns * 3 / 2 >= period)
		return t->period_ns;
	return period > t->period_ns ? period : t->period_ns;
}

bool thinning_takes(struct thinning *t, uint32_t tid, const struct event_sample *sample,
                    uint64_t *weight_ns)
{
	*weight_ns = sample->weight_ns;
	if ((!t->period_ns && !t->enough) || sample->kind != SAMPLE_ON_CPU)
		return true;

	struct thinned_thread *thread = &t->threads[tid & (THINNING_THREADS - 1)];
	if (thread->tid != tid)
		*thread = (struct thinned_thread){ .tid = tid };
	uint64_t period = period_of(t, thread, sample->weight_ns);
	if (!period) {
		thread->taken++;
		return true;
	}
	if (!thread->due_ns)
		thread->due_ns = next_due(t, period);
	thread->left_ns += sample->weight_ns;
	// The sample before may have been as near.
	if (thread->left_ns + sample->weight_ns / 2 < thread->due_ns)
		return false;
	*weight_ns = thread->left_ns;
	thread->left_ns = thread->due_ns = 0;
	t->gave_way += t->enough && thread->taken == THINNING_ENOUGH;
	thread->taken++;
	return true;
}
