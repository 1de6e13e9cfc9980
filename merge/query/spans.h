/* SPDX-License-Identifier: MIT */
/*
 * Stretches of time, in order and without overlap: what one thread or GPU was busy with. Times are
 * in ns, on whatever clock the caller has. The caller frees the array.
 */
#pragma once

#include "base/array.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct span {
	uint64_t begin_ns, end_ns;
};

struct spans {
	struct span *spans;
	size_t count, capacity;
};

/* Adds one that begins no earlier than all before. False if there is no memory. */
static inline bool spans_add(struct spans *s, uint64_t begin_ns, uint64_t end_ns)
{
	struct span *last = s->count ? &s->spans[s->count - 1] : NULL;

	if (begin_ns >= end_ns)
		return true;
	if (last && begin_ns <= last->end_ns) {
		last->end_ns = end_ns > last->end_ns ? end_ns : last->end_ns;
		return true;
	}
	if (!array_reserve(&s->spans, &s->capacity, s->count + 1))
		return false;
	s->spans[s->count++] = (struct span){ begin_ns, end_ns };
	return true;
}
