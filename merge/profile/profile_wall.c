// SPDX-License-Identifier: MIT
// Wall time: the events of a run go to the resolver (merge/wall/wall.h), and its parts into cells.
#include "merge/profile/profile_data.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

// Who has no stack stands there with the mark that says so.
static uint32_t unknown_node(struct profile *p, uint32_t slot)
{
	const struct stack none = { 0 };

	return slot ? profile_add_path(p, slot, &none) : 0;
}

static void on_part(void *context, const struct wall_part *part)
{
	struct profile *p = context;
	struct wall_time *t = &p->wall_time;
	struct cells *cells = part->minus ? &t->minus : &t->plus;
	double *rest = part->minus ? &t->minus_rest_ns : &t->plus_rest_ns;
	double ns = part->weight_ns + *rest;
	struct interval interval = { .start_ns = part->from_ns,
		                     .duration_ns = part->to_ns - part->from_ns,
		                     .weight_ns = ns_whole(ns) };
	uint32_t node = part->node;

	*rest = ns - (double)interval.weight_ns;
	if (!interval.weight_ns)
		return;
	if (!node && part->minus) {
		t->minus_ns[part->metric] += interval.weight_ns;
		return;
	}
	node = node ? node : unknown_node(p, part->tag);
	t->lost += !node || !profile_add_gpu_interval(p, cells, node, part->metric, &interval);
}

#define TIMES_BINS 64    // of a run: so fine are windows of who waited and who was alone
#define TIMES_MAX  65536 // cells, while it goes on
#define TIMES_KEPT 4096  // once it has ended

static void bound_times(struct cells *c, uint32_t most)
{
	cells_narrow_to(c, TIMES_BINS);
	while (c->last_bin && c->count > most)
		cells_widen(c);
}

static void on_time(void *context, const struct wall_time_part *part)
{
	struct profile *p = context;
	struct cells *cells = &p->wall_time.times[wall_table_of(part->series)];
	struct interval interval = { .start_ns = part->from_ns,
		                     .duration_ns = part->to_ns - part->from_ns,
		                     .weight_ns = ns_whole(part->weight_ns + 0.5),
		                     .samples = part->count };

	profile_add_gpu_interval(p, cells, part->key, part->series, &interval);
	bound_times(cells, TIMES_MAX);
}

static struct wall *live(struct profile *p)
{
	struct wall_time *t = &p->wall_time;

	if (t->live || t->lost)
		return t->live;
	if (wall_time_init(t))
		t->live = wall_new(on_part, p);
	if (t->live)
		wall_hear_times(t->live, on_time);
	if (!t->live) { // of a part of a run nobody knows what its end waited for
		wall_time_fini(t);
		t->lost = 1;
	}
	return t->live;
}

void profile_wall_process(struct profile *p, const struct process_event *event)
{
	struct wall *w = live(p);

	if (w)
		wall_process(w, event->process, event->parent);
	if (w && event->exec)
		wall_exec(w, event->process, event->time_ns);
}

void profile_wall_thread(struct profile *p, const struct thread_event *event)
{
	struct wall *w = live(p);

	if (w)
		wall_thread(w, event->thread, event->process,
		            threads_slot(&p->threads, event->thread), event->time_ns);
}

void profile_wall_thread_end(struct profile *p, const struct thread_end *end)
{
	if (p->wall_time.live)
		wall_thread_end(p->wall_time.live, end->thread, end->time_ns);
}

// Ranks of MPI poll for each other in its calls; but not as they start and end.
static bool is_in_mpi(const struct profile *p, uint32_t node)
{
	static const char *const alone[] = { "MPI_Init", "MPI_Finalize", "MPI_Comm_spawn" };

	for (; node && profile_node(p, node)->parent; node = profile_node(p, node)->parent) {
		const struct location *l = profile_location(p, profile_node(p, node)->location);
		const struct op *op = l->kind == FRAME_OP ? profile_op(p, l->address) : NULL;
		if (!op || op->provider != OP_MPI)
			continue;
		for (size_t i = 0; i < sizeof(alone) / sizeof(alone[0]); i++)
			if (strncmp(op->name, alone[i], strlen(alone[i])) == 0)
				return false;
		return true;
	}
	return false;
}

static bool is_unseen(const struct profile *p, uint32_t node)
{
	const struct path_node *n = profile_node(p, node);

	return n->parent && location_is_mark(profile_location(p, n->location), MARK_UNKNOWN);
}

void profile_wall_stack(struct profile *p, uint32_t node, const struct stack *stack)
{
	bool abroad = p->wall_time.live && stack->metric == METRIC_ON_CPU && is_in_mpi(p, node);

	if (p->wall_time.live)
		wall_stack(
			p->wall_time.live,
			&(struct wall_stack){ .thread = stack->thread,
		                              .node = node,
		                              .metric = stack->metric,
		                              .spins = abroad || (stack->flags & STACK_SPINS) != 0,
		                              .abroad = abroad,
		                              .rest = !stack->samples,
		                              .unseen = is_unseen(p, node),
		                              .time_ns = stack->time_ns,
		                              .duration_ns = stack->duration_ns,
		                              .weight_ns = stack->weight_ns });
}

void profile_wall_span(struct profile *p, const struct span_event *span)
{
	if (p->wall_time.live)
		wall_span(p->wall_time.live, span);
}

void profile_wall_peers(struct profile *p, const struct peers_event *peers)
{
	if (p->wall_time.live)
		wall_peers(p->wall_time.live, peers);
}

void profile_wall_signal(struct profile *p, const struct signal_event *signal)
{
	if (p->wall_time.live)
		wall_signal(p->wall_time.live, signal);
}

void profile_wall_wait(struct profile *p, const struct wait_event *wait)
{
	struct wall_share shares[32];
	bool condition = wait->kind == HELD_CONDITION || wait->kind == HELD_SEMAPHORE;
	struct wall_wait told = {
		.thread = wait->thread,
		.from_ns = wait->begin_ns,
		.to_ns = wait->end_ns,
		.resource = wait->address,
		.module = wait->module,
		.made = wait->made,
		.kind = wait->gil ? WALL_GIL : wait->kind,
		// The interpreter's lock is waited for in turns of some milliseconds.
		.goes_on = condition && (wait->flags & HELD_TIMED_OUT),
		.wakes = wait->kind == HELD_CONDITION,
		.step_ns = wait->step_ns,
		.failed = (wait->flags & (HELD_TIMED_OUT | HELD_INTERRUPTED)) != 0,
		.object = wait->object,
		.shares = shares,
	};

	if (!p->wall_time.live)
		return;
	// The last ones matter most.
	uint32_t first = wait->count > 32 ? wait->count - 32 : 0;
	for (uint32_t i = first; i < wait->count; i++)
		shares[told.count++] = (struct wall_share){
			.until_ns = wait->parts[i].until_ns,
			.thread = wait->parts[i].how == HELD_BY_NOBODY ? WALL_NOBODY
			                                               : wait->parts[i].thread,
		};
	wall_wait(p->wall_time.live, &told);
}

void profile_forget_wall(struct profile *p)
{
	struct wall_time *t = &p->wall_time;

	wall_free(t->live);
	t->live = NULL;
	wall_time_fini(t);
	t->lost = 1;
}

static int compare_edges(const void *a, const void *b)
{
	const struct wall_edge *left = a, *right = b;

	if (left->ns != right->ns)
		return left->ns < right->ns ? 1 : -1;
	return (left->waiter_node > right->waiter_node) - (left->waiter_node < right->waiter_node);
}

static int compare_alone(const void *a, const void *b)
{
	const struct wall_alone *left = a, *right = b;

	if (left->ns != right->ns)
		return left->ns < right->ns ? 1 : -1;
	return (left->node > right->node) - (left->node < right->node);
}

#define GILS_MAX 16 // its condition variables, of all programs of a run

// The GIL is known from when somebody has looked at the interpreter on: what was waited for at its
// places before is it, too.
static void find_early_gil_waits(struct wall_time *t)
{
	const struct wall_edge *gils[GILS_MAX];
	size_t count = 0;

	for (size_t i = 0; i < t->edge_count; i++) {
		const struct wall_edge *e = &t->edges[i];
		size_t k = 0;
		while (k < count &&
		       (gils[k]->module != e->module || gils[k]->resource != e->resource))
			k++;
		if (e->kind == WALL_GIL && e->module && k == count && count < GILS_MAX)
			gils[count++] = e;
	}
	for (size_t i = 0; i < t->edge_count; i++)
		for (size_t k = 0; k < count && t->edges[i].kind == HELD_CONDITION; k++)
			if (gils[k]->module == t->edges[i].module &&
			    gils[k]->resource == t->edges[i].resource)
				t->edges[i].kind = WALL_GIL;
}

// Where waits for the GIL were recorded, threads have waited for it so long, and not as samples and
// looks had estimated.
static bool count_gil_waits(struct profile *p)
{
	const struct wall_time *t = &p->wall_time;
	bool *records = calloc((size_t)p->threads.process_count + 1, sizeof(*records));

	if (!records)
		return false;
	for (size_t i = 0; i < t->edge_count; i++)
		if (t->edges[i].kind == WALL_GIL && t->edges[i].waiter)
			records[p->threads.threads[t->edges[i].waiter - 1].process] = true;
	for (uint32_t i = 0; i < p->threads.thread_count; i++)
		if (records[p->threads.threads[i].process])
			p->threads.threads[i].gil_waited_ns = 0;
	for (size_t i = 0; i < t->edge_count; i++)
		if (t->edges[i].kind == WALL_GIL && t->edges[i].waiter)
			p->threads.threads[t->edges[i].waiter - 1].gil_waited_ns += t->edges[i].ns;
	free(records);
	return true;
}

static bool runs_in_parallel(const struct wall_busy *busy)
{
	for (uint32_t i = 2; i <= WALL_BUSY_MAX; i++)
		if (busy->ns[i])
			return true;
	return busy->wanted_ns > 0;
}

#define EDGES_KEPT 2048 // of the most time; the rest is kept by resource
#define RESTS_MAX  64

static bool is_alike(const struct wall_edge *a, const struct wall_edge *b)
{
	return a->kind == b->kind && a->module == b->module && a->resource == b->resource &&
	       a->cause == b->cause && a->guessed == b->guessed && !a->holder == !b->holder;
}

static void add_edge(struct wall_edge *to, const struct wall_edge *from)
{
	uint64_t count = to->count + from->count;

	to->median_ns = (uint64_t)(((double)to->median_ns * (double)to->count +
	                            (double)from->median_ns * (double)from->count) /
	                           (double)(count ? count : 1));
	to->ns += from->ns;
	to->count = count;
	to->wall_ns += from->wall_ns;
	to->wall_ready_ns += from->wall_ready_ns;
	to->longest_ns = from->longest_ns > to->longest_ns ? from->longest_ns : to->longest_ns;
}

#define SMALL_PART 10000 // of the run's time

static bool is_same_pair(const struct wall_edge *a, const struct wall_edge *b)
{
	return is_alike(a, b) && a->waiter == b->waiter && a->holder == b->holder &&
	       a->made.module == b->made.module && a->made.address == b->made.address;
}

static uint64_t hash_of_pair(const struct wall_edge *e)
{
	return hash_pair(e->resource ^ (uint64_t)e->kind << 56,
	                 (uint64_t)e->waiter << 32 | e->holder);
}

// Who waits for one lock thousands of times is seen at dozens of places on its way into the kernel:
// those of next to no time go with where the same thread waits for the same one for longest.
// PLACE_OF, by number: where each is then, from 1 on.
static bool join_small_edges(struct wall_time *t, uint64_t small_ns, struct hash *pairs,
                             uint32_t *place_of)
{
	size_t kept = 0;

	for (size_t i = 0; i < t->edge_count; i++) {
		const struct wall_edge e = t->edges[i];
		const uint64_t hashed = hash_of_pair(&e);
		uint32_t at;
		if (!hash_make_room(pairs))
			return false;
		for (at = hash_start(pairs, hashed);
		     pairs->slots[at] && !is_same_pair(&t->edges[pairs->slots[at] - 1], &e);)
			at = hash_next(pairs, at);
		place_of[e.number - 1] = pairs->slots[at];
		if (pairs->slots[at] && e.ns < small_ns) {
			add_edge(&t->edges[pairs->slots[at] - 1], &e);
			continue;
		}
		t->edges[kept++] = e;
		place_of[e.number - 1] = (uint32_t)kept;
		if (!pairs->slots[at])
			hash_insert(pairs, at, hashed, (uint32_t)kept);
	}
	t->edge_count = kept;
	return true;
}

// Thousands of threads have millions of pairs: of little time it is not told who they are. TO:
// where each edge is then, from 1 on.
static void bound_edges(struct wall_time *t, uint32_t *to)
{
	size_t kept = t->edge_count < EDGES_KEPT ? t->edge_count : EDGES_KEPT;
	size_t first = kept;

	for (size_t i = 0; i < first; i++)
		to[i] = (uint32_t)i + 1;
	for (size_t i = first; i < t->edge_count; i++) {
		struct wall_edge e = t->edges[i];
		size_t at = first;
		e.waiter = e.waiter_node = e.holder_node = 0;
		while (at < kept && !is_alike(&t->edges[at], &e))
			at++;
		if (at == kept && kept - first < RESTS_MAX) {
			t->edges[kept++] = e;
		} else {
			at = at < kept ? at : kept - 1;
			add_edge(&t->edges[at], &e);
		}
		to[i] = (uint32_t)at + 1;
	}
	t->edge_count = kept;
}

static bool narrow_edges(struct wall_time *t)
{
	const size_t count = t->edge_count;
	cleanup_free uint32_t *place_of = calloc(2 * count + 1, sizeof(*place_of)); // by number
	uint32_t *to = place_of ? place_of + count : NULL;
	uint64_t run_ns = 0;
	struct hash pairs;

	for (size_t i = 0; i <= WALL_BUSY_MAX; i++)
		run_ns += t->busy.ns[i];
	if (!place_of || !hash_init(&pairs, 64))
		return false;
	bool joined = join_small_edges(t, run_ns / SMALL_PART, &pairs, place_of);
	hash_fini(&pairs);
	if (!joined)
		return false;
	bound_edges(t, to);
	for (size_t i = 0; i < count; i++)
		place_of[i] = to[place_of[i] - 1];
	if (t->times[WALL_EDGE_TIMES].count)
		cells_move_nodes(&t->times[WALL_EDGE_TIMES], place_of);
	return true;
}

void profile_end_wall(struct profile *p, uint64_t now_ns)
{
	struct wall_time *t = &p->wall_time;
	size_t count;

	if (!t->live)
		return;
	wall_finish(t->live, now_ns);
	t->coverage = wall_coverage(t->live);
	t->root = wall_root(t->live);
	t->lost += !wall_is_whole(t->live);
	t->busy = *wall_busy(t->live);
	const struct wall_edge *edges = wall_edges(t->live, &count);
	t->edges = edges ? calloc(count + 1, sizeof(*edges)) : NULL;
	if (t->edges) {
		memcpy(t->edges, edges, count * sizeof(*edges));
		t->edge_count = count;
		qsort(t->edges, count, sizeof(*edges), compare_edges);
		find_early_gil_waits(t);
		t->lost += !count_gil_waits(p);
		t->lost += !narrow_edges(t);
	}
	const struct wall_alone *alone = wall_alone(t->live, &count);
	// In a run of one thread all of it is alone, and that says nothing.
	count = runs_in_parallel(&t->busy) ? count : 0;
	t->alone = calloc(count + 1, sizeof(*alone));
	if (t->alone && count) {
		memcpy(t->alone, alone, count * sizeof(*alone));
		t->alone_count = count;
		qsort(t->alone, count, sizeof(*alone), compare_alone);
	}
	if (!count) {
		cells_fini(&t->times[WALL_ALONE_TIMES]);
		t->lost += !cells_init(&t->times[WALL_ALONE_TIMES]);
	}
	for (int i = 0; i < WALL_TABLES; i++)
		bound_times(&t->times[i], TIMES_KEPT);
	t->has_times = true;
	wall_free(t->live);
	t->live = NULL;
	t->lost += !wall_time_sum(t, &p->cells, &p->paths);
}
