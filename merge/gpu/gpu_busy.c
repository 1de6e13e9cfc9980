// SPDX-License-Identifier: MIT
#include "merge/gpu/gpu_busy.h"

#include "base/array.h"
#include "base/cleanup.h"

#include <stdlib.h>

// Something begins or ends.
struct edge {
	uint64_t time_ns;
	uint32_t thread;
	uint32_t stream;
	int8_t by; // 1, -1
	bool copy;
};

// A stream on which something runs.
struct running {
	uint32_t stream, count;
};

struct sweep {
	struct gpu_busy *busy;
	const struct gpu_busy_sink *sink;
	uint32_t kernels, copies;      // that run
	uint64_t since_ns[GPU_STATES]; // 0: it is not in that state
	struct running *running;       // room for one of each span
	size_t running_count;
	uint64_t last_ns; // edge
};

void gpu_busy_fini(struct gpu_busy *b)
{
	free(b->spans);
	*b = (struct gpu_busy){ 0 };
}

bool gpu_busy_add(struct gpu_busy *b, const struct gpu_span *span)
{
	struct gpu_span own = *span;

	if (own.end_ns <= own.begin_ns)
		return true;
	if (own.begin_ns < b->final_ns) {
		b->late++;
		own.begin_ns = b->final_ns;
	}
	if (own.begin_ns >= own.end_ns)
		return true;
	if (!array_reserve(&b->spans, &b->capacity, b->count + 1))
		return false;
	b->spans[b->count++] = own;
	return true;
}

// What ends comes before what begins at the same time only if it is another activity, which it is.
static int compare_edges(const void *a, const void *b)
{
	const struct edge *left = a, *right = b;

	if (left->time_ns != right->time_ns)
		return left->time_ns < right->time_ns ? -1 : 1;
	return right->by - left->by; // so that what follows at once leaves no gap
}

// The edges of what begins before UNTIL_NS; the rest of it stays.
static size_t take_edges(struct gpu_busy *b, uint64_t until_ns, struct edge *edges)
{
	size_t kept = 0, count = 0;

	for (size_t i = 0; i < b->count; i++) {
		struct gpu_span span = b->spans[i];
		if (span.begin_ns < until_ns) {
			uint64_t end = span.end_ns < until_ns ? span.end_ns : until_ns;
			edges[count++] = (struct edge){ span.begin_ns, span.thread, span.stream, 1,
				                        span.copy };
			edges[count++] =
				(struct edge){ end, span.thread, span.stream, -1, span.copy };
			span.begin_ns = end;
		}
		if (span.begin_ns < span.end_ns)
			b->spans[kept++] = span;
	}
	b->count = kept;
	return count;
}

static bool is_in(const struct sweep *s, enum gpu_state state)
{
	switch (state) {
	case GPU_BUSY:
		return s->kernels + s->copies > 0;
	case GPU_KERNELS:
		return s->kernels > 0;
	case GPU_COPIES:
		return s->copies > 0;
	case GPU_OVERLAP:
		return s->kernels + s->copies > 1;
	default:
		return s->kernels > 0 && s->copies > 0;
	}
}

static void begin_busy(const struct sweep *s, const struct edge *edge)
{
	struct gpu_busy *b = s->busy;

	if (!b->first_ns)
		b->first_ns = edge->time_ns;
	else if (edge->time_ns > b->end_ns)
		s->sink->gap(s->sink->context, b->end_ns, edge->time_ns, edge->thread);
}

static void change(struct sweep *s, enum gpu_state state, const struct edge *edge)
{
	bool now = is_in(s, state);

	if (now == (s->since_ns[state] != 0))
		return;
	if (now && state == GPU_BUSY)
		begin_busy(s, edge);
	if (!now && edge->time_ns > s->since_ns[state])
		s->sink->state(s->sink->context, state, s->since_ns[state], edge->time_ns);
	if (!now && state == GPU_BUSY)
		s->busy->end_ns = edge->time_ns;
	s->since_ns[state] = now ? edge->time_ns : 0;
}

// What ran on several streams since the last edge.
static void tell_shared(const struct sweep *s, uint64_t until_ns)
{
	if (!s->sink->shared || s->running_count < 2 || until_ns <= s->last_ns)
		return;
	for (size_t i = 0; i < s->running_count; i++)
		s->sink->shared(s->sink->context, s->running[i].stream, until_ns - s->last_ns);
}

static void run_on(struct sweep *s, const struct edge *edge)
{
	size_t at = 0;

	while (at < s->running_count && s->running[at].stream != edge->stream)
		at++;
	if (at == s->running_count)
		s->running[s->running_count++] = (struct running){ edge->stream, 0 };
	s->running[at].count += (uint32_t)edge->by;
	if (!s->running[at].count)
		s->running[at] = s->running[--s->running_count];
}

static void pass(struct sweep *s, const struct edge *edge)
{
	tell_shared(s, edge->time_ns);
	s->last_ns = edge->time_ns;
	run_on(s, edge);
	*(edge->copy ? &s->copies : &s->kernels) += (uint32_t)edge->by;
	for (int state = 0; state < GPU_STATES; state++)
		change(s, (enum gpu_state)state, edge);
}

bool gpu_busy_settle(struct gpu_busy *b, uint64_t until_ns, const struct gpu_busy_sink *sink)
{
	cleanup_free struct edge *edges = NULL;
	cleanup_free struct running *running = NULL;
	struct sweep s = { .busy = b, .sink = sink };

	if (until_ns <= b->final_ns)
		return true;
	if (b->count && (!(edges = malloc(2 * b->count * sizeof(*edges))) ||
	                 !(running = malloc(b->count * sizeof(*running)))))
		return false;
	s.running = running;
	size_t count = b->count ? take_edges(b, until_ns, edges) : 0;
	if (count)
		qsort(edges, count, sizeof(*edges), compare_edges);
	for (size_t i = 0; i < count; i++)
		pass(&s, &edges[i]);
	b->final_ns = until_ns;
	return true;
}
