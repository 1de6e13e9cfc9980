// SPDX-License-Identifier: MIT
#include "merge/query/query_kinds.h"

#include "base/error.h"
#include "base/origin.h"
#include "merge/profile/profile_parts.h"
#include "merge/scope/window.h"
#include "merge/table/cells.h"

#include <errno.h>
#include <stdlib.h>

// Where a node begins: the place of the outermost own function above it, or its own.
struct start {
	uint32_t function, file; // strings; 0: none yet
};

// Time of a thread that began at START.
struct share {
	struct start start;
	uint64_t ns;
};

struct asking {
	const struct profile *profile;
	uint32_t *slots;             // [node - 1]
	struct start *starts;        // [node - 1]
	struct share *most;          // [slot - 1]: where it began for most of its time
	struct kind_thread *threads; // [slot - 1]
};

static void asking_at_scope_end(struct asking *a)
{
	free(a->slots);
	free(a->starts);
	free(a->most);
	free(a->threads);
}

void thread_kinds_free(struct thread_kinds *kinds)
{
	if (!kinds)
		return;
	free(kinds->kinds);
	free(kinds->threads);
	free(kinds);
}

static struct start start_at(const struct profile *p, uint32_t id)
{
	const struct location *location = profile_location(p, id);
	const struct place *places = profile_places(p, location);
	const struct module *module = profile_module(p, location->module);

	if (location->kind == FRAME_OP || location->kind == FRAME_MARK)
		return (struct start){ 0 };
	for (uint32_t i = location->place_count; i-- > 0;) {
		const struct place *place = &places[i];
		const char *file = profile_string(p, place->file);
		if (place->function && !place->inlined &&
		    !origin_is_foreign(module ? module->path : NULL, file))
			return (struct start){ place->function,
				               place->declared ? place->declared : place->file };
	}
	return (struct start){ 0 };
}

static bool asking_init(struct asking *a, const struct profile *p)
{
	size_t nodes = profile_paths(p)->count + (size_t)1;
	size_t threads = profile_threads(p)->thread_count + (size_t)1;

	a->profile = p;
	a->slots = calloc(nodes, sizeof(*a->slots));
	a->starts = calloc(nodes, sizeof(*a->starts));
	a->most = calloc(threads, sizeof(*a->most));
	a->threads = calloc(threads, sizeof(*a->threads));
	if (!a->slots || !a->starts || !a->most || !a->threads)
		return false;
	for (uint32_t id = 1; id < nodes; id++) {
		const struct path_node *node = profile_node(p, id);
		if (!node->parent) {
			a->slots[id - 1] = node->location;
			continue;
		}
		a->slots[id - 1] = a->slots[node->parent - 1];
		a->starts[id - 1] = a->starts[node->parent - 1];
		if (!a->starts[id - 1].function)
			a->starts[id - 1] = start_at(p, node->location);
	}
	return true;
}

// The start that has more of the thread's time than all others is found, whatever their order.
static void vote(struct share *most, struct start start, uint64_t ns)
{
	if (start.function == most->start.function && start.file == most->start.file)
		most->ns += ns;
	else if (ns > most->ns)
		*most = (struct share){ start, ns - most->ns };
	else
		most->ns -= ns;
}

static void add_cells(struct asking *a, const struct query *query)
{
	const struct cells *cells = profile_cells(a->profile);
	struct window w = window_of(a->profile, query->from_ns, query->to_ns);

	for (uint32_t i = 0; i < cells->count; i++) {
		const struct cell *cell = &cells->cells[i];
		uint32_t slot = a->slots[cell->node - 1];
		// Parts of an interval are modulo 2^64, and of waits alone.
		uint64_t ns = cells_between(cells, cell, w.first_bin, w.end_bin);
		if (!slot || slot > profile_threads(a->profile)->thread_count)
			continue;
		a->threads[slot - 1].cpu_ns += cell->metric == METRIC_ON_CPU ? ns : 0;
		a->threads[slot - 1].ready_ns += cell->metric == METRIC_OFF_RUNNABLE ? ns : 0;
		if (cell->metric == METRIC_ON_CPU && (int64_t)ns > 0 &&
		    a->starts[cell->node - 1].function)
			vote(&a->most[slot - 1], a->starts[cell->node - 1], ns);
	}
}

static bool is_first(const struct profile *p, const struct thread_info *info)
{
	return info->process &&
	       threads_process(profile_threads(p), info->process)->pid == info->tid;
}

static int compare_threads(const void *left, const void *right)
{
	const struct kind_thread *a = left, *b = right;

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->cpu_ns != b->cpu_ns)
		return a->cpu_ns > b->cpu_ns ? -1 : 1;
	return a->slot < b->slot ? -1 : a->slot > b->slot;
}

// A thread, by where it began.
struct begun {
	struct start start;
	uint32_t slot;
};

static int compare_starts(const void *left, const void *right)
{
	const struct begun *a = left, *b = right;

	if (a->start.function != b->start.function)
		return a->start.function < b->start.function ? -1 : 1;
	if (a->start.file != b->start.file)
		return a->start.file < b->start.file ? -1 : 1;
	return a->slot < b->slot ? -1 : a->slot > b->slot;
}

static size_t list_begun(const struct asking *a, struct begun *begun)
{
	const struct threads *t = profile_threads(a->profile);
	size_t count = 0;

	for (uint32_t slot = 1; slot <= t->thread_count; slot++) {
		const struct thread_info *info = profile_thread(a->profile, slot);
		struct start start = a->most[slot - 1].start;
		if (!thread_is_apart(info) || is_first(a->profile, info) ||
		    !a->threads[slot - 1].cpu_ns)
			continue;
		if (!start.function)
			start.function = info->name;
		begun[count++] = (struct begun){ start, slot };
	}
	qsort(begun, count, sizeof(*begun), compare_starts);
	return count;
}

static bool collect(struct asking *a, struct thread_kinds *kinds)
{
	const struct threads *t = profile_threads(a->profile);
	uint64_t start_ns = profile_start_ns(a->profile), end_ns = profile_run(a->profile)->wall_ns;
	size_t room = (size_t)t->thread_count + 1;
	cleanup_free struct begun *begun = calloc(room, sizeof(*begun));

	kinds->threads = calloc(room, sizeof(*kinds->threads));
	kinds->kinds = calloc(room, sizeof(*kinds->kinds));
	if (!begun || !kinds->threads || !kinds->kinds)
		return false;
	kinds->thread_count = list_begun(a, begun);
	for (size_t i = 0; i < kinds->thread_count; i++) {
		const struct start *start = &begun[i].start, *last = &begun[i - (i > 0)].start;
		const struct thread_info *info = profile_thread(a->profile, begun[i].slot);
		struct kind_thread *thread = &kinds->threads[i];
		if (!i || start->function != last->function || start->file != last->file)
			kinds->kinds[kinds->count++] = (struct thread_kind){
				.function = profile_string(a->profile, start->function),
				.file = profile_string(a->profile, start->file),
			};
		*thread = a->threads[begun[i].slot - 1];
		thread->slot = begun[i].slot;
		thread->tid = info->tid;
		thread->kind = (uint32_t)kinds->count - 1;
		thread->begin_ns = info->start_ns > start_ns ? info->start_ns - start_ns : 0;
		thread->end_ns = info->end_ns > start_ns ? info->end_ns - start_ns : end_ns;
		if (thread->end_ns < thread->begin_ns) // a damaged profile
			thread->end_ns = thread->begin_ns;
	}
	return true;
}

struct thread_kinds *query_kinds(const struct profile *p, const struct query *query,
                                 struct error *err)
{
	cleanup(asking) struct asking a = { 0 };
	cleanup(thread_kinds) struct thread_kinds *kinds = calloc(1, sizeof(*kinds));

	if (kinds && asking_init(&a, p)) {
		add_cells(&a, query);
		if (collect(&a, kinds)) {
			qsort(kinds->threads, kinds->thread_count, sizeof(*kinds->threads),
			      compare_threads);
			for (size_t i = kinds->thread_count; i-- > 0;) {
				struct thread_kind *kind = &kinds->kinds[kinds->threads[i].kind];
				kind->first = i;
				kind->count++;
			}
			return steal(kinds);
		}
	}
	error_set(err, ENOMEM, "could not group threads by what they begin in");
	return NULL;
}
