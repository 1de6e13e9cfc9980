// SPDX-License-Identifier: MIT
#include "merge/rules/queue.h"

#include "base/clock.h"
#include "base/error.h"
#include "merge/query/query_wall.h"
#include "merge/scope/scope.h"

#include <errno.h>
#include <stdlib.h>

struct queue {
	uint32_t first_bin, end_bin;
	uint64_t width_ns;
	// Wall time without a CPU for each ns of CPU time, of all bins before this one.
	double before[CELLS_BINS + 1];
};

// Time by bins, of moments and intervals.
struct bins {
	double ns[CELLS_BINS + 1], rate[CELLS_BINS + 1];
};

static void bins_add(struct bins *bins, const struct cell *cell)
{
	uint32_t bin = cell->bin < CELLS_BINS ? cell->bin : CELLS_BINS;

	bins->ns[bin] += (double)(int64_t)cell->ns;
	bins->rate[bin] += cell->rate;
}

// The time of intervals goes to the bins that they are in.
static void bins_close(struct bins *bins, uint64_t width_ns)
{
	double open = 0;

	for (uint32_t i = 0; i < CELLS_BINS; i++) {
		open += bins->rate[i];
		bins->ns[i] += open * (double)width_ns;
		bins->ns[i] = bins->ns[i] > 0 ? bins->ns[i] : 0;
	}
}

static uint32_t slot_of(const struct profile *p, uint32_t id)
{
	const struct path_node *node = profile_node(p, id);

	while (node->parent)
		node = profile_node(p, node->parent);
	return node->location;
}

static void add_ready(struct bins *bins, const struct scope *from, uint32_t slot)
{
	const struct profile *p = from->profile;

	for (uint32_t i = 0; i < from->first_cell[profile_paths(p)->count]; i++) {
		const struct cell *cell = &from->table->cells[from->cells[i]];
		if (scope_metric(cell) == METRIC_OFF_RUNNABLE &&
		    (!slot || slot_of(p, cell->node) == slot))
			bins_add(bins, cell);
	}
	bins_close(bins, from->table->width_ns);
}

static void add_running(struct bins *bins, const struct scope *scope)
{
	for (uint32_t i = 0; i < scope->first_cell[profile_paths(scope->profile)->count]; i++) {
		const struct cell *cell = &scope->table->cells[scope->cells[i]];
		if (cell->metric == METRIC_ON_CPU)
			bins_add(bins, cell);
	}
	bins_close(bins, scope->table->width_ns);
}

struct stretches {
	double ready_ns[QUEUE_STRETCHES], own_ns[QUEUE_STRETCHES], cpu_ns[QUEUE_STRETCHES];
	uint64_t from_ns, width_ns; // since the origin of cells
	uint32_t count;
};

static uint32_t stretch_of(const struct stretches *s, uint64_t ns)
{
	uint64_t at = (ns > s->from_ns ? ns - s->from_ns : 0) / s->width_ns;

	return at < s->count ? (uint32_t)at : s->count - 1;
}

static void cut(struct stretches *s, const struct queue *q, uint32_t last_bin)
{
	uint32_t end = q->end_bin < last_bin + 1 ? q->end_bin : last_bin + 1;
	uint64_t ns = end > q->first_bin ? (end - q->first_bin) * q->width_ns : q->width_ns;
	uint64_t count = ns / QUEUE_STRETCH_NS;

	s->count = count < 1 ? 1 : count > QUEUE_STRETCHES ? QUEUE_STRETCHES : (uint32_t)count;
	s->from_ns = q->first_bin * q->width_ns;
	s->width_ns = (ns + s->count - 1) / s->count;
}

// The bins of wall time may be wider.
static void take_ready(struct stretches *s, const struct queue *q, const struct scope *from,
                       const struct bins *ready, const double *own)
{
	uint64_t width = from->table->width_ns;

	for (uint32_t i = from->first_bin; i < from->end_bin && i < CELLS_BINS; i++) {
		uint64_t bin = i * width / q->width_ns;
		uint32_t at = stretch_of(s, i * width);
		s->ready_ns[at] += ready->ns[i];
		s->own_ns[at] += ready->ns[i] * own[bin < CELLS_BINS ? bin : CELLS_BINS];
	}
}

// OWN_NS in all: what was waited while nothing was seen on a CPU is that of the other stretches.
static void spread(struct queue *q, const struct stretches *s, double own_ns)
{
	double all = 0;

	for (uint32_t i = 0; i < s->count; i++)
		all += s->cpu_ns[i] > 0 ? s->own_ns[i] : 0;
	for (uint32_t i = 0; i < CELLS_BINS; i++) {
		uint32_t at = stretch_of(s, i * q->width_ns);
		bool in = i >= q->first_bin && i < q->end_bin && s->cpu_ns[at] > 0 && all > 0;
		q->before[i + 1] =
			q->before[i] + (in ? own_ns * s->own_ns[at] / all / s->cpu_ns[at] : 0);
	}
}

void queue_free(struct queue *queue)
{
	free(queue);
}

struct queue *queue_new(const struct scope *scope, const struct scope *wall, uint32_t critical,
                        const struct query *query, const struct contention_answer *contention,
                        struct error *err)
{
	cleanup(queue) struct queue *q = calloc(1, sizeof(*q));
	cleanup_free struct bins *running = calloc(1, sizeof(*running));
	cleanup_free struct bins *ready = calloc(1, sizeof(*ready));
	cleanup_free double *own =
		query_contention_own(scope->profile, query->from_ns, query->to_ns, err);
	struct contention_answer answer = *contention;
	struct stretches s = { 0 };
	double ready_ns = 0;

	if (!own)
		return NULL;
	if (!q || !running || !ready) {
		error_set(err, ENOMEM, "could not tell who had the CPUs");
		return NULL;
	}
	q->first_bin = scope->first_bin;
	q->end_bin = scope->end_bin < CELLS_BINS ? scope->end_bin : CELLS_BINS;
	q->width_ns = scope->table->width_ns;
	cut(&s, q, scope->table->last_bin);
	add_running(running, scope);
	add_ready(ready, wall ? wall : scope, wall ? 0 : critical);
	take_ready(&s, q, wall ? wall : scope, ready, own);
	for (uint32_t i = q->first_bin; i < q->end_bin; i++)
		s.cpu_ns[stretch_of(&s, i * q->width_ns)] += running->ns[i];
	for (uint32_t i = 0; i < s.count; i++)
		ready_ns += s.ready_ns[i];
	contention_share(ns_whole(ready_ns), &answer);
	// Of merged profiles it is one rank's wall time, and others' threads had other CPUs.
	struct wall_rank rank;
	spread(q, &s, query_wall_rank(scope->profile, &rank) ? 0 : (double)answer.critical.own_ns);
	return steal(q);
}

double queue_ns(const struct queue *q, const struct cell *cell)
{
	uint32_t bin = cell->bin < CELLS_BINS ? cell->bin : CELLS_BINS - 1;
	uint32_t from = bin > q->first_bin ? bin : q->first_bin;
	double ns = bin >= q->first_bin && bin < q->end_bin
	                    ? (double)(int64_t)cell->ns * (q->before[bin + 1] - q->before[bin])
	                    : 0;

	if (from < q->end_bin)
		ns += cell->rate * (double)q->width_ns * (q->before[q->end_bin] - q->before[from]);
	return ns;
}
