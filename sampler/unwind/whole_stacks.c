// SPDX-License-Identifier: MIT
#include "sampler/unwind/whole_stacks.h"

#include <stdlib.h>
#include <string.h>

void whole_stacks_fini(struct whole_stacks *w)
{
	for (size_t i = 0; w->stacks && i < WHOLE_STACKS; i++)
		last_stack_fini(&w->stacks[i]);
	free(w->stacks);
	*w = (struct whole_stacks){ 0 };
}

// The innermost frame may be anywhere in its function.
static bool begins_alike(const struct last_stack *l, const struct frame *frames,
                         const uint64_t *sps, size_t count)
{
	if (l->count < count)
		return false;
	for (size_t i = 1; i < count; i++)
		if (l->frames[i].address != frames[i].address ||
		    l->frames[i].module != frames[i].module ||
		    l->sps[i] - l->sps[1] != sps[i] - sps[1])
			return false;
	return true;
}

static uint64_t key_of(const struct frame *frames, const uint64_t *sps, size_t count)
{
	uint64_t key = count;

	for (size_t i = 1; i < count; i++)
		key = (key ^ frames[i].address ^ (sps[i] - sps[1]) << 32) * 0x9e3779b97f4a7c15;
	return key;
}

void whole_stacks_keep(struct whole_stacks *w, const struct frame *frames, const uint64_t *sps,
                       size_t count, uint64_t time_ns)
{
	if (!w->stacks && !(w->stacks = calloc(WHOLE_STACKS, sizeof(*w->stacks))))
		return;
	uint64_t key = key_of(frames, sps, count);
	for (size_t i = 0; i < WHOLE_STACKS; i++)
		if (w->keys[i] == key && w->stacks[i].count == count &&
		    begins_alike(&w->stacks[i], frames, sps, count))
			return;
	struct last_stack *place = &w->stacks[w->next];
	place->count = 0;
	last_stack_keep(place, frames, sps, count, time_ns);
	if (!place->count)
		return;
	w->keys[w->next] = key;
	w->next = (w->next + 1) % WHOLE_STACKS;
}

const struct last_stack *whole_stacks_find(const struct whole_stacks *w, const struct frame *frames,
                                           const uint64_t *sps, size_t count, uint64_t caller_sp)
{
	// What called the innermost frame says too little.
	if (!w->stacks || count < 2)
		return NULL;
	for (size_t i = 1; i <= WHOLE_STACKS; i++) {
		const struct last_stack *l =
			&w->stacks[(w->next + WHOLE_STACKS - i) % WHOLE_STACKS];
		if (l->count > count && begins_alike(l, frames, sps, count) &&
		    (!caller_sp || l->sps[count] - l->sps[1] == caller_sp - sps[1]))
			return l;
	}
	return NULL;
}
