// SPDX-License-Identifier: MIT
#include "merge/query/query_waits.h"

#include "base/error.h"
#include "base/origin.h"
#include "base/path.h"
#include "base/record.h"
#include "merge/profile/profile_parts.h"
#include "merge/scope/own_place.h"
#include "merge/wall/wall_time.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(WAIT_KIND_DESCRIPTOR == WALL_DESCRIPTOR && WAIT_KIND_GIL == WALL_GIL, "kinds");

// A row and what tells it from others; its sides' threads are counted apart.
struct slot {
	struct wait_row row;
	const struct wall_edge *first; // whose waiter and holder it began with
	uint64_t guessed_ns;
};

void wait_rows_free(struct wait_rows *rows)
{
	if (rows)
		free(rows->rows);
	free(rows);
}

const char *wait_kind_name(uint32_t kind, enum metric cause)
{
	static const char *const names[] = {
		[HELD_MUTEX] = "mutex",
		[HELD_RWLOCK] = "read-write lock",
		[HELD_CONDITION] = "condition variable",
		[HELD_SEMAPHORE] = "semaphore",
		[HELD_BARRIER] = "barrier",
		[HELD_JOIN] = "end of a thread",
		[HELD_SPIN] = "spinlock",
		[HELD_ONCE] = "initialization",
		[WALL_DESCRIPTOR] = "pipe or socket",
		[WALL_GIL] = "GIL",
	};

	if (kind && kind < sizeof(names) / sizeof(names[0]) && names[kind])
		return names[kind];
	return cause == METRIC_OFF_CHILD ? "child" : cause == METRIC_OFF_LOCK ? "lock" : "";
}

// Where code that is none of the user's own is: its innermost function outside of the kernel, or
// its program or library if that has no symbols there.
static void fill_foreign(const struct profile *p, uint32_t node, struct wait_side *side)
{
	for (; node && profile_node(p, node)->parent; node = profile_node(p, node)->parent) {
		const struct location *l = profile_location(p, profile_node(p, node)->location);
		const struct place *place = l->place_count ? profile_places(p, l) : NULL;
		const struct module *module = profile_module(p, l->module);
		if (l->kind == FRAME_OP || l->kind == FRAME_MARK || profile_is_kernel(p, l))
			continue;
		side->function = place ? profile_string(p, place->function) : NULL;
		if (!side->function)
			side->function = module ? path_base(module->path) : NULL;
		side->file = place ? profile_string(p, place->file) : NULL;
		side->line = place ? (int)place->line : 0;
		return;
	}
}

static void fill_side(const struct profile *p, uint32_t slot, uint32_t node, bool several,
                      struct wait_side *side)
{
	const struct thread_info *thread = slot ? profile_thread(p, slot) : NULL;
	const struct process_info *process = thread ? profile_process(p, thread->process) : NULL;
	const struct place *own = node ? own_place_above(p, node) : NULL;

	*side = (struct wait_side){ .threads = thread != NULL };
	if (thread)
		side->thread = profile_string(p, thread->name);
	if (several && process)
		side->process = profile_string(p, process->command);
	if (!own) {
		fill_foreign(p, node, side);
		return;
	}
	side->function = profile_string(p, own->function);
	side->file = profile_string(p, own->file);
	side->line = (int)own->line;
}

// What the user's Python code has called of others' in which NODE's thread waits.
static const char *python_within(const struct profile *p, uint32_t node)
{
	const char *found = NULL;

	for (; node && profile_node(p, node)->parent; node = profile_node(p, node)->parent) {
		const struct location *l = profile_location(p, profile_node(p, node)->location);
		const struct place *place = l->place_count ? profile_places(p, l) : NULL;
		if (own_place_at(p, l))
			return found;
		if (l->kind == FRAME_PYTHON && place)
			found = profile_string(p, place->function);
	}
	return NULL;
}

// CPython makes its locks of semaphores, or of mutexes and conditions.
static bool is_python(const struct profile *p, const struct wall_edge *e)
{
	const struct module *module = profile_module(p, e->made.module);
	const char *base = module ? path_base(module->path) : "";

	return strncmp(base, "python", 6) == 0 || strncmp(base, "libpython", 9) == 0;
}

static void fill_resource(const struct profile *p, const struct wall_edge *e, uint32_t waiter_node,
                          struct wait_row *row)
{
	const struct module *module = profile_module(p, e->module);
	const struct module *maker = profile_module(p, e->made.module);
	const char *file = profile_string(p, e->file);

	row->kind = e->kind;
	row->cause = e->cause;
	row->address = e->resource;
	if (e->kind == WALL_GIL)
		return;
	row->python = is_python(p, e);
	// Where a library makes locks of its own says nothing.
	row->made = maker && file && e->line && !origin_is_foreign(maker->path, file);
	if (row->python || maker || !e->name)
		row->within = python_within(p, waiter_node);
	if (maker && !row->made)
		return;
	row->resource = profile_string(p, e->name);
	row->resource_file = file;
	row->resource_line = (int)e->line;
	if (!row->resource_file && row->resource && module)
		row->resource_file = path_base(module->path);
}

// Time that a thread waited at a place of the user's own, for the GIL or not.
struct at_place {
	uint32_t slot, node;
	bool gil;
	const struct place *place;
	uint64_t ns;
};

// Where most waits of each thread are: at so much of their time the others are, too.
#define ALIKE 0.8

struct usual {
	uint32_t node[2]; // of waits for locks but the GIL, and for the GIL; 0: here and there
};

static int compare_places(const void *a, const void *b)
{
	const struct at_place *left = a, *right = b;

	if (left->slot != right->slot)
		return left->slot < right->slot ? -1 : 1;
	if (left->gil != right->gil)
		return left->gil ? 1 : -1;
	if (left->place->function != right->place->function)
		return left->place->function < right->place->function ? -1 : 1;
	return (left->place->file > right->place->file) - (left->place->file < right->place->file);
}

static void find_usual(const struct at_place *at, size_t count, struct usual *usual)
{
	for (size_t first = 0, end; first < count; first = end) {
		uint64_t all = 0, most = 0, ns = 0, heaviest = 0;
		uint32_t node = 0, best = 0;
		for (end = first;
		     end < count && at[end].slot == at[first].slot && at[end].gil == at[first].gil;
		     end++) {
			bool same = end > first &&
			            at[end].place->function == at[end - 1].place->function &&
			            at[end].place->file == at[end - 1].place->file;
			ns = same ? ns + at[end].ns : at[end].ns;
			if (!same || at[end].ns > heaviest) {
				heaviest = at[end].ns;
				node = at[end].node;
			}
			all += at[end].ns;
			if (ns > most) {
				most = ns;
				best = node;
			}
		}
		if ((double)most >= ALIKE * (double)all)
			usual[at[first].slot - 1].node[at[first].gil] = best;
	}
}

// [slot - 1]. Short waits have no stack of their own, but many threads wait at one place. NULL if
// there is no memory.
static struct usual *usual_places(const struct profile *p)
{
	const struct cells *cells = profile_cells(p);
	struct usual *usual = calloc(profile_threads(p)->thread_count + 1, sizeof(*usual));
	cleanup_free struct at_place *at = calloc((size_t)cells->count + 1, sizeof(*at));
	cleanup_free uint32_t *slots = calloc((size_t)profile_paths(p)->count + 1, sizeof(*slots));
	size_t count = 0;

	if (!usual || !at || !slots) {
		free(usual);
		return NULL;
	}
	for (uint32_t id = 1; id <= profile_paths(p)->count; id++) {
		const struct path_node *node = profile_node(p, id);
		slots[id - 1] = node->parent ? slots[node->parent - 1] : node->location;
	}
	for (uint32_t i = 0; i < cells->count; i++) {
		const struct cell *cell = &cells->cells[i];
		const struct path_node *node = profile_node(p, cell->node);
		const struct place *place =
			cell->metric == METRIC_OFF_LOCK ? own_place_above(p, cell->node) : NULL;
		if (!place || !node->parent)
			continue;
		const struct location *l = profile_location(p, node->location);
		at[count++] = (struct at_place){
			.slot = slots[cell->node - 1],
			.node = cell->node,
			.gil = l->kind == FRAME_MARK && l->address == MARK_GIL,
			.place = place,
			.ns = cells_whole(cells, cell),
		};
	}
	qsort(at, count, sizeof(*at), compare_places);
	find_usual(at, count, usual);
	return usual;
}

static uint32_t node_of_waiter(const struct wall_edge *e, const struct usual *usual)
{
	if (e->waiter_node || !e->waiter || e->cause != METRIC_OFF_LOCK)
		return e->waiter_node;
	return usual[e->waiter - 1].node[e->kind == WALL_GIL];
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

// Threads of one kind are one: who is in the same function.
static bool same_function(const struct wait_side *a, const struct wait_side *b)
{
	bool same = same_text(a->function, b->function) && same_text(a->file, b->file) &&
	            same_text(a->process, b->process) && !a->threads == !b->threads;

	return same && (a->function || same_text(a->thread, b->thread));
}

static bool same_row(const struct wait_row *a, const struct wait_row *b)
{
	bool same = a->kind == b->kind && a->cause == b->cause &&
	            same_text(a->resource, b->resource) && a->resource_line == b->resource_line &&
	            same_text(a->resource_file, b->resource_file) &&
	            same_text(a->within, b->within) && a->python == b->python;

	// Without a name resources of one kind that are waited for at one line are alike. Who holds
	// one is at many lines of a function meanwhile: those are one, and the heaviest is named.
	return same && a->waiter.line == b->waiter.line && same_function(&a->waiter, &b->waiter) &&
	       same_function(&a->holder, &b->holder);
}

// How many different threads of each row's edges are waiters, and holders.
static bool count_threads(const struct profile *p, const uint32_t *row_of, struct slot *slots,
                          size_t count)
{
	const struct wall_time *t = profile_wall_time(p);
	size_t threads = profile_threads(p)->thread_count;
	// [slot - 1]: 1 + the row in which it was counted last.
	cleanup_free uint32_t *waiter_in = calloc(threads + 1, sizeof(*waiter_in));
	cleanup_free uint32_t *holder_in = calloc(threads + 1, sizeof(*holder_in));

	for (size_t row = 0; waiter_in && holder_in && row < count; row++) {
		struct wait_row *out = &slots[row].row;
		out->waiter.threads = out->holder.threads = 0;
		for (size_t i = 0; i < t->edge_count; i++) {
			uint32_t waiter = t->edges[i].waiter, holder = t->edges[i].holder;
			if (row_of[i] != row)
				continue;
			if (waiter && waiter_in[waiter - 1] != row + 1) {
				waiter_in[waiter - 1] = (uint32_t)row + 1;
				out->waiter.threads++;
			}
			if (holder && holder_in[holder - 1] != row + 1) {
				holder_in[holder - 1] = (uint32_t)row + 1;
				out->holder.threads++;
			}
		}
	}
	return waiter_in && holder_in;
}

static int compare_rows(const void *a, const void *b)
{
	const struct slot *left = a, *right = b;

	if (left->row.ns != right->row.ns)
		return left->row.ns < right->row.ns ? 1 : -1;
	return left->first < right->first ? -1 : left->first > right->first;
}

// Rows of little time are many, and one search for each: so many are kept apart.
#define ROWS_MAX 512

static void add(struct slot *slot, const struct wall_edge *e)
{
	struct wait_row *row = &slot->row;

	// The median of medians, by how many waits each is of, is near enough.
	row->median_ns = (uint64_t)(((double)row->median_ns * (double)row->count +
	                             (double)e->median_ns * (double)e->count) /
	                            (double)(row->count + e->count ? row->count + e->count : 1));
	row->ns += e->ns;
	row->wall_ns += e->wall_ns;
	row->count += e->count;
	row->longest_ns = e->longest_ns > row->longest_ns ? e->longest_ns : row->longest_ns;
	slot->guessed_ns += e->guessed ? e->ns : 0;
}

struct wait_rows *query_waits(const struct profile *p, struct error *err)
{
	const struct wall_time *t = profile_wall_time(p);
	cleanup(wait_rows) struct wait_rows *rows = calloc(1, sizeof(*rows));
	size_t most = t->edge_count < ROWS_MAX ? t->edge_count : ROWS_MAX, count = 0;
	cleanup_free struct slot *slots = calloc(most + 1, sizeof(*slots));
	cleanup_free uint32_t *row_of = calloc(t->edge_count + 1, sizeof(*row_of));
	bool several = profile_threads(p)->process_count > 1;
	cleanup_free struct usual *usual = usual_places(p);

	if (rows)
		rows->rows = calloc(most + 1, sizeof(*rows->rows));
	if (!rows || !slots || !row_of || !rows->rows || !usual) {
		error_set(err, ENOMEM, "could not list the waits");
		return NULL;
	}
	for (size_t i = 0; i < t->edge_count; i++) {
		const struct wall_edge *e = &t->edges[i];
		struct wait_row row = { 0 };
		size_t at = 0;
		uint32_t node = node_of_waiter(e, usual);
		fill_resource(p, e, node, &row);
		fill_side(p, e->waiter, node, several, &row.waiter);
		fill_side(p, e->holder, e->holder_node, several, &row.holder);
		while (at < count && !same_row(&slots[at].row, &row))
			at++;
		row_of[i] = (uint32_t)at;
		rows->ns += e->ns;
		rows->wall_ns += e->wall_ns;
		if (at == most)
			continue;
		if (at == count)
			slots[count++] = (struct slot){ .row = row, .first = e };
		add(&slots[at], e);
	}
	if (!count_threads(p, row_of, slots, count)) {
		error_set(err, ENOMEM, "could not list the waits");
		return NULL;
	}
	for (size_t i = 0; i < count; i++)
		slots[i].row.guessed = 2 * slots[i].guessed_ns > slots[i].row.ns;
	qsort(slots, count, sizeof(*slots), compare_rows);
	for (size_t i = 0; i < count; i++)
		rows->rows[i] = slots[i].row;
	rows->count = count;
	rows->blocked_ns = t->coverage.blocked_ns;
	rows->known_ns = t->coverage.known_ns;
	rows->guessed_ns = t->coverage.guessed_ns;
	return steal(rows);
}

// CPU time of all threads in the function of SIDE.
static uint64_t on_cpus(const struct profile *p, const struct wait_side *side)
{
	const struct cells *cells = profile_cells(p);
	uint64_t ns = 0;

	for (uint32_t i = 0; i < cells->count; i++) {
		const struct cell *cell = &cells->cells[i];
		struct wait_side other;
		if (cell->metric != METRIC_ON_CPU)
			continue;
		fill_side(p, 0, cell->node, false, &other);
		ns += same_function(side, &other) ? cells_whole(cells, cell) : 0;
	}
	return ns;
}

static uint32_t slot_of(const struct profile *p, uint32_t node)
{
	while (profile_node(p, node)->parent)
		node = profile_node(p, node)->parent;
	return profile_node(p, node)->location;
}

// The most that a thread was alone which is never in the function of SIDE.
static uint64_t alone_elsewhere(const struct profile *p, const struct wait_side *side)
{
	const struct wall_time *t = profile_wall_time(p);
	size_t threads = profile_threads(p)->thread_count;
	cleanup_free bool *is_there = calloc(threads + 1, sizeof(*is_there));
	cleanup_free uint64_t *ns = calloc(threads + 1, sizeof(*ns));
	uint64_t most = 0;

	for (size_t i = 0; is_there && ns && i < t->alone_count; i++) {
		uint32_t slot = slot_of(p, t->alone[i].node);
		struct wait_side other;
		fill_side(p, 0, t->alone[i].node, false, &other);
		is_there[slot - 1] |= same_function(side, &other);
		ns[slot - 1] += t->alone[i].ns;
	}
	for (size_t i = 0; is_there && ns && i < threads; i++)
		most = !is_there[i] && ns[i] > most ? ns[i] : most;
	return most;
}

void query_parallel(const struct profile *p, struct parallel *parallel)
{
	const struct wall_time *t = profile_wall_time(p);
	struct wait_side sides[64];
	uint64_t ns[64] = { 0 };
	size_t count = 0, best = 0;

	*parallel = (struct parallel){ 0 };
	for (uint32_t i = 0; i <= WALL_BUSY_MAX; i++) {
		uint64_t *part = i == 0   ? &parallel->none_ns
		                 : i == 1 ? &parallel->one_ns
		                          : &parallel->more_ns;
		*part += t->busy.ns[i];
		parallel->all_ns += t->busy.ns[i];
		parallel->most = t->busy.ns[i] ? i : parallel->most;
	}
	// The heaviest paths come first: a place that matters is among the first few.
	for (size_t i = 0; i < t->alone_count; i++) {
		struct wait_side side;
		size_t at = 0;
		fill_side(p, 0, t->alone[i].node, false, &side);
		while (at < count && !same_function(&sides[at], &side))
			at++;
		if (at == sizeof(sides) / sizeof(sides[0]))
			continue;
		if (at == count)
			sides[count++] = side;
		ns[at] += t->alone[i].ns;
	}
	for (size_t i = 0; i < count; i++)
		best = ns[i] > ns[best] ? i : best;
	if (!count || !ns[best])
		return;
	parallel->alone = sides[best];
	parallel->alone_ns = ns[best];
	parallel->alone_all_ns = on_cpus(p, &sides[best]);
	parallel->alone_other_ns = alone_elsewhere(p, &sides[best]);
}
