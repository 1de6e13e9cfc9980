/* SPDX-License-Identifier: MIT */
/*
 * The workers of PyTorch's DataLoader: how many there were, and what they did.
 *
 * A worker is a process that runs torch.utils.data._utils.worker._worker_loop(), whether it was
 * forked or spawned. It is known by its samples: one that ended without any is not. For the files
 * of merge/ alone.
 */
#pragma once

#include "merge/query/query.h"

#include <stdint.h>

struct error;

struct loaders {
	uint32_t started; /* in all of the run */
	uint32_t at_once; /* at most */
	/* In the window, of all of them together: */
	uint64_t life_ns;     /* in _worker_loop() */
	uint64_t idle_ns;     /* of that: waiting to be told what to load */
	uint64_t runnable_ns; /* of that: waiting for a free CPU */
};

/* Of the window of QUERY. -1 if there is no memory. */
int loaders_look(const struct profile *p, const struct query *query, struct loaders *loaders,
                 struct error *err);
