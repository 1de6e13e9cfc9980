// SPDX-License-Identifier: MIT
#include "sampler/op/op_site.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

void op_sites_fini(struct op_sites *s)
{
	free(s->sites);
	*s = (struct op_sites){ 0 };
}

// Index of CALLER, or where it belongs.
static size_t index_of(const struct op_sites *s, uint64_t caller)
{
	return array_search(s->count, i, s->sites[i].caller < caller);
}

const struct op_site *op_sites_find(const struct op_sites *s, uint64_t caller)
{
	size_t at = index_of(s, caller);

	return at < s->count && s->sites[at].caller == caller ? &s->sites[at] : NULL;
}

// The site of CALLER, made if it is new. NULL if there is no memory.
static struct op_site *site_of(struct op_sites *s, uint64_t caller)
{
	size_t at = index_of(s, caller);

	if (at < s->count && s->sites[at].caller == caller)
		return &s->sites[at];
	if (!array_reserve(&s->sites, &s->capacity, s->count + 1))
		return NULL;
	memmove(s->sites + at + 1, s->sites + at, (s->count - at) * sizeof(*s->sites));
	s->count++;
	return &s->sites[at];
}

// Index of the frame that has called the hook; COUNT if it was not found.
static size_t find_caller(uint64_t stack, const uint64_t *sps, size_t count)
{
	size_t i = 0;

	while (i < count && sps[i] != stack)
		i++;
	return i;
}

void op_sites_learn(struct op_sites *s, uint64_t caller, uint64_t stack, const struct frame *frames,
                    const uint64_t *sps, size_t count, op_is_wrapper *is_wrapper, void *context)
{
	size_t first = find_caller(stack, sps, count), owner = first;

	while (is_wrapper && owner + 1 < count && frames[owner].kind == FRAME_RETURN &&
	       is_wrapper(context, frames[owner]))
		owner++;
	if (owner >= count || frames[owner].kind == FRAME_MARK)
		return;
	struct op_site *site = site_of(s, caller);
	if (!site)
		return;
	*site = (struct op_site){ .caller = caller, .skip = sps[owner] - stack };
	// Wrappers serve owners of all kinds.
	if (owner != first)
		return;
	site->owner = frames[owner];
	if (owner + 1 < count && sps[owner + 1] > stack)
		site->frame_end = sps[owner + 1] - stack;
}
