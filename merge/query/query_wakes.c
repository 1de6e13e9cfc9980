// SPDX-License-Identifier: MIT
#include "merge/query/query_wakes.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "merge/profile/profile_parts.h"
#include "merge/wall/wall_time.h"

#include <errno.h>
#include <stdlib.h>

// Who has let go may be blocked itself before the other one is seen to go on.
#define JUST_NS (200 * NS_PER_US)

struct open_wait {
	struct wake wake;
	uint32_t node;
	enum metric cause;
};

// The last wait of a thread.
struct last_wait {
	uint64_t begin_ns, end_ns;
};

struct wakes {
	const struct wall_time *wall;
	uint32_t threads;
	uint32_t *edges; // indices, by waiter; of one the most time first, as they come
	size_t edge_count;
	struct last_wait *last; // [thread - 1]
	struct open_wait *open;
	size_t open_count, open_capacity;
};

void wakes_free(struct wakes *w)
{
	if (!w)
		return;
	free(w->edges);
	free(w->last);
	free(w->open);
	free(w);
}

static int compare_edges(const void *a, const void *b, void *context)
{
	const struct wall_edge *edges = context;
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	if (edges[left].waiter != edges[right].waiter)
		return edges[left].waiter < edges[right].waiter ? -1 : 1;
	return left < right ? -1 : left > right;
}

struct wakes *wakes_new(const struct profile *p, struct error *err)
{
	cleanup(wakes) struct wakes *w = calloc(1, sizeof(*w));

	if (w) {
		w->wall = profile_wall_time(p);
		w->threads = (uint32_t)profile_threads(p)->thread_count;
		w->edges = calloc(w->wall->edge_count + 1, sizeof(*w->edges));
		w->last = calloc((size_t)w->threads + 1, sizeof(*w->last));
	}
	if (!w || !w->edges || !w->last) {
		error_set(err, ENOMEM, "could not find who ended waits");
		return NULL;
	}
	for (size_t i = 0; i < w->wall->edge_count; i++) {
		const struct wall_edge *e = &w->wall->edges[i];
		if (e->waiter && e->holder && e->holder != e->waiter && e->waiter <= w->threads &&
		    e->holder <= w->threads)
			w->edges[w->edge_count++] = (uint32_t)i;
	}
	qsort_r(w->edges, w->edge_count, sizeof(*w->edges), compare_edges, w->wall->edges);
	return steal(w);
}

static const struct wall_edge *edge_at(const struct wakes *w, size_t i)
{
	return &w->wall->edges[w->edges[i]];
}

static bool was_blocked(const struct wakes *w, uint32_t thread, uint64_t at_ns)
{
	const struct last_wait *last = &w->last[thread - 1];

	return last->begin_ns + JUST_NS < at_ns && last->end_ns >= at_ns;
}

// Of those whom the thread has waited for, AT_NODE of the wait or anywhere for the same cause.
static uint32_t waker_of(const struct wakes *w, const struct open_wait *wait, bool at_node)
{
	uint32_t waiter = wait->wake.waiter;
	size_t first = array_search(w->edge_count, i, edge_at(w, i)->waiter < waiter);

	for (size_t i = first; i < w->edge_count && edge_at(w, i)->waiter == waiter; i++) {
		const struct wall_edge *e = edge_at(w, i);
		bool same = at_node ? e->waiter_node == wait->node
		                    : !e->waiter_node && e->cause == wait->cause;
		if (same && !was_blocked(w, e->holder, wait->wake.end_ns))
			return e->holder;
	}
	return 0;
}

bool wakes_add(struct wakes *w, const struct slice_row *row, uint64_t tag)
{
	if (row->kind != SLICE_WAIT || !row->thread || row->thread > w->threads)
		return true;
	w->last[row->thread - 1] = (struct last_wait){ row->begin_ns, row->end_ns };
	if (row->metric == METRIC_OFF_RUNNABLE || row->metric == METRIC_OFF_SLEEP)
		return true;
	if (!array_reserve(&w->open, &w->open_capacity, w->open_count + 1))
		return false;
	w->open[w->open_count++] = (struct open_wait){
		.wake = { .begin_ns = row->begin_ns,
		          .end_ns = row->end_ns,
		          .waiter = row->thread,
		          .tag = tag },
		.node = row->node,
		.cause = row->metric,
	};
	return true;
}

bool wakes_next(struct wakes *w, uint64_t until_ns, struct wake *wake)
{
	for (;;) {
		size_t first = w->open_count;
		// There are as many as threads, and most of those are few.
		for (size_t i = 0; i < w->open_count; i++)
			if (first == w->open_count ||
			    w->open[i].wake.end_ns < w->open[first].wake.end_ns)
				first = i;
		if (first == w->open_count || w->open[first].wake.end_ns > until_ns)
			return false;
		struct open_wait wait = w->open[first];
		w->open[first] = w->open[--w->open_count];
		*wake = wait.wake;
		wake->waker = waker_of(w, &wait, true);
		if (!wake->waker)
			wake->waker = waker_of(w, &wait, false);
		if (wake->waker)
			return true;
	}
}
