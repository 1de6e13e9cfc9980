/* SPDX-License-Identifier: MIT */
/*
 * The last calls that may have launched something on a GPU, by when they began: so that it finds
 * them. Older ones are forgotten. One thread at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct launch_call {
	uint32_t thread; /* 0: none */
	uint32_t pid, tid;
	uint64_t begin_ns;
	uint64_t number;   /* its own */
	uint64_t external; /* that of the op around; 0: none */
};

struct launches {
	struct launch_call *calls;
};

/* -1 if there is no memory. */
int launches_init(struct launches *l);
void launches_fini(struct launches *l);

static inline void launches_at_scope_end(struct launches *l)
{
	launches_fini(l);
}

void launches_add(struct launches *l, const struct launch_call *call);

/* The call of THREAD that began at BEGIN_NS; NULL: it is not known, or not any more. */
const struct launch_call *launches_find(const struct launches *l, uint32_t thread,
                                        uint64_t begin_ns);
