// SPDX-License-Identifier: MIT
#include "cli/export/launches.h"

#include "base/hash.h"

#include <stdlib.h>

#define SETS 16384u // a power of two
#define WAYS 4u     // calls that share a place: the oldest of them goes

int launches_init(struct launches *l)
{
	l->calls = calloc((size_t)SETS * WAYS, sizeof(*l->calls));
	return l->calls ? 0 : -1;
}

void launches_fini(struct launches *l)
{
	free(l->calls);
	l->calls = NULL;
}

static struct launch_call *set_of(const struct launches *l, uint32_t thread, uint64_t begin_ns)
{
	return &l->calls[(hash_mix(begin_ns * 31 + thread) & (SETS - 1)) * WAYS];
}

void launches_add(struct launches *l, const struct launch_call *call)
{
	struct launch_call *set = set_of(l, call->thread, call->begin_ns);
	struct launch_call *oldest = set;

	for (uint32_t i = 1; i < WAYS; i++)
		if (set[i].number < oldest->number)
			oldest = &set[i];
	*oldest = *call;
}

const struct launch_call *launches_find(const struct launches *l, uint32_t thread,
                                        uint64_t begin_ns)
{
	const struct launch_call *set = set_of(l, thread, begin_ns);

	for (uint32_t i = 0; i < WAYS; i++)
		if (set[i].thread == thread && set[i].begin_ns == begin_ns)
			return &set[i];
	return NULL;
}
