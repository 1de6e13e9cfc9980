// SPDX-License-Identifier: MIT
#include "sampler/tracker/correlations.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

bool correlations_init(struct correlations *c)
{
	*c = (struct correlations){ 0 };
	return hash_init(&c->young.index, 64) && hash_init(&c->old.index, 64);
}

void correlations_fini(struct correlations *c)
{
	free(c->young.calls);
	free(c->old.calls);
	hash_fini(&c->young.index);
	hash_fini(&c->old.index);
	*c = (struct correlations){ 0 };
}

static uint64_t hash_of_call(uint32_t process, uint32_t correlation)
{
	return hash_mix((uint64_t)process << 32 | correlation);
}

static uint32_t slot_of_call(const struct correlated_generation *g, uint32_t process,
                             uint32_t correlation)
{
	uint32_t at = hash_start(&g->index, hash_of_call(process, correlation));

	for (; g->index.slots[at]; at = hash_next(&g->index, at)) {
		const struct correlated_call *call = &g->calls[g->index.slots[at] - 1];
		if (call->correlation == correlation && call->process == process)
			break;
	}
	return at;
}

static const struct correlated_call *find_in(const struct correlated_generation *g,
                                             uint32_t process, uint32_t correlation)
{
	uint32_t id = g->index.slots[slot_of_call(g, process, correlation)];

	return id ? &g->calls[id - 1] : NULL;
}

const struct correlated_call *correlations_find(const struct correlations *c, uint32_t process,
                                                uint32_t correlation)
{
	const struct correlated_call *call = find_in(&c->young, process, correlation);

	return call ? call : find_in(&c->old, process, correlation);
}

// The older generation is forgotten, and its room used again.
static void turn_generations(struct correlations *c)
{
	struct correlated_generation old = c->old;

	c->old = c->young;
	old.count = 0;
	hash_clear(&old.index);
	c->young = old;
}

void correlations_put(struct correlations *c, const struct correlated_call *call)
{
	struct correlated_generation *g = &c->young;

	if (g->count == CORRELATIONS_MAX)
		turn_generations(c);
	if (!hash_make_room(&g->index) ||
	    !array_reserve(&g->calls, &g->capacity, (size_t)g->count + 1))
		return;
	uint32_t at = slot_of_call(g, call->process, call->correlation);
	if (g->index.slots[at]) {
		g->calls[g->index.slots[at] - 1] = *call;
		return;
	}
	g->calls[g->count++] = *call;
	hash_insert(&g->index, at, hash_of_call(call->process, call->correlation), g->count);
}
