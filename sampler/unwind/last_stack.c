// SPDX-License-Identifier: MIT
#include "sampler/unwind/last_stack.h"

#include "base/array.h"
#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

#define DEEP_BYTES ((uint64_t)1 << 10) // below that nothing is ever cut
#define OLD_NS     NS_PER_SEC

void last_stack_fini(struct last_stack *l)
{
	free(l->frames);
	free(l->sps);
	*l = (struct last_stack){ 0 };
}

void last_stack_keep(struct last_stack *l, const struct frame *frames, const uint64_t *sps,
                     size_t count, uint64_t time_ns)
{
	if (count < 2 || sps[count - 1] - sps[0] < DEEP_BYTES ||
	    !array_reserve(&l->frames, &l->frame_capacity, count) ||
	    !array_reserve(&l->sps, &l->sp_capacity, count))
		return;
	memcpy(l->frames, frames, count * sizeof(*frames));
	memcpy(l->sps, sps, count * sizeof(*sps));
	l->count = count;
	l->time_ns = time_ns;
}

size_t last_stack_find(const struct last_stack *l, uint64_t sp, size_t first, uint64_t time_ns)
{
	if (!sp || (time_ns > l->time_ns && time_ns - l->time_ns > OLD_NS))
		return l->count;
	for (size_t i = first; i < l->count; i++)
		if (l->sps[i] == sp)
			return i;
	return l->count;
}
