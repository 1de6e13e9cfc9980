// SPDX-License-Identifier: MIT
#include "sampler/thinning.h"

bool thinning_takes(struct thinning *t, uint32_t tid, const struct event_sample *sample,
                    uint64_t *weight_ns)
{
	*weight_ns = sample->weight_ns;
	if (!t->period_ns || sample->kind != SAMPLE_ON_CPU)
		return true;

	uint32_t at = tid & (THINNING_THREADS - 1);
	uint64_t before = t->threads[at].tid == tid ? t->threads[at].left_ns : 0;
	uint64_t weight = before + sample->weight_ns;
	// The periods that the kernel was asked for are rounded: half of one more is near enough.
	bool taken = weight + sample->weight_ns / 2 >= t->period_ns;
	t->threads[at].tid = tid;
	t->threads[at].left_ns = taken ? 0 : weight;
	if (taken)
		*weight_ns = weight;
	return taken;
}
