// SPDX-License-Identifier: MIT
#include "merge/scope/scope.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "merge/gpu/gpu.h"
#include "merge/profile/profile_parts.h"
#include "merge/scope/idle.h"
#include "merge/scope/kept.h"
#include "merge/scope/keys.h"
#include "merge/scope/window.h"
#include "merge/table/allocations.h"
#include "merge/table/cells.h"
#include "merge/wall/wall_time.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void release(struct scope *scope)
{
	free(scope->threads);
	free(scope->first_child);
	free(scope->sibling);
	free(scope->first_cell);
	free(scope->cells);
	free(scope->idle);
	cells_fini(&scope->bytes);
}

void scope_fini(struct scope *scope)
{
	if (!scope->borrowed)
		release(scope);
	*scope = (struct scope){ 0 };
}

// WANTED names it by its text or its number; NULL means all.
static bool is_called(const char *wanted, const char *name, uint32_t number)
{
	char digits[16];

	if (!wanted)
		return true;
	snprintf(digits, sizeof(digits), "%u", number);
	return (name && strcmp(wanted, name) == 0) || strcmp(wanted, digits) == 0;
}

static bool is_asked_for(const struct profile *p, const struct query *query,
                         const struct thread_info *info)
{
	const struct process_info *process = profile_process(p, info->process);
	const char *command = process ? profile_string(p, process->command) : NULL;
	const char *title = process ? profile_string(p, process->title) : NULL;

	if (!info->name)
		return false; // a number that was never announced
	return is_called(query->thread, profile_string(p, info->name), info->tid) &&
	       (is_called(query->process, command, process ? process->pid : 0) ||
	        is_called(query->process, title, process ? process->pid : 0));
}

bool *scope_choose_threads(const struct profile *p, const struct query *query, struct error *err)
{
	const struct threads *t = profile_threads(p);
	cleanup_free bool *threads = calloc(t->thread_count + 1, sizeof(*threads));
	size_t chosen = 0;

	if (!threads) {
		error_set(err, ENOMEM, "could not rank the profile");
		return NULL;
	}
	for (size_t i = 0; i < t->thread_count; i++) {
		threads[i] = is_asked_for(p, query, &t->threads[i]);
		chosen += threads[i];
	}
	if (chosen || (!query->thread && !query->process))
		return steal(threads);
	error_set(err, 0, "no %s \"%s\" in this profile", query->thread ? "thread" : "process",
	          query->thread ? query->thread : query->process);
	error_hint(err, "bottleneck report --by %s lists them.",
	           query->thread ? "thread" : "process");
	return NULL;
}

static bool of_memory(const struct query *query)
{
	return query->of == QUERY_ALLOCATED || query->of == QUERY_LIVE;
}

static void choose_metrics(struct scope *scope, const struct query *query)
{
	bool both = query->on_cpu == query->off_cpu;

	if (query->of != QUERY_THREADS && query->of != QUERY_WALL)
		both = true;
	for (int i = 0; i < METRIC_COUNT; i++)
		scope->metrics[i] = both || (metric_is_off_cpu(i) ? query->off_cpu : query->on_cpu);
	if ((query->of == QUERY_THREADS || query->of == QUERY_GPU_IDLE) && both &&
	    query->without_others)
		scope->metrics[METRIC_OFF_RUNNABLE] = scope->metrics[METRIC_OFF_CHILD] = false;
	// Children that are known stand there for who waits for them.
	if (query->of == QUERY_WALL && both && query->without_others)
		scope->metrics[METRIC_OFF_RUNNABLE] = false;
}

// Where waits of idle threads do not count. Of a thread as a whole all time does.
static bool leaves_idle_out(const struct query *query)
{
	return query->of == QUERY_THREADS && query->on_cpu == query->off_cpu &&
	       query->without_others && query->by != BY_THREAD && query->by != BY_PROCESS;
}

static void link_nodes(struct scope *scope)
{
	const struct paths *paths = profile_paths(scope->profile);

	// Backwards, so that each list is in order of id.
	for (uint32_t id = paths->count; id > 0; id--) {
		const struct path_node *node = paths_node(paths, id);
		uint32_t *head =
			node->parent ? &scope->first_child[node->parent - 1] : &scope->first_root;
		if (!node->parent && !scope->threads[node->location - 1])
			continue;
		scope->sibling[id - 1] = *head;
		*head = id;
	}
}

uint32_t scope_bin(const struct cells *c, uint64_t time_ns)
{
	uint64_t since = time_ns > c->origin_ns ? time_ns - c->origin_ns : 0;
	uint64_t bin = (since + c->width_ns - 1) / c->width_ns;

	return bin < CELLS_BINS ? (uint32_t)bin : CELLS_BINS;
}

// A bin is in the window as a whole, or not at all: its start decides.
static void choose_bins(struct scope *scope, const struct query *query)
{
	const struct window_limits limits =
		window_limits(scope->profile, query->from_ns, query->to_ns);
	uint64_t start = profile_start_ns(scope->profile);

	scope->end_bin = CELLS_BINS;
	if (of_memory(query))
		return; // when it was allocated is not kept
	if (limits.from_ns)
		scope->first_bin = scope_bin(scope->table, start + limits.from_ns);
	if (limits.to_ns)
		scope->end_bin = scope_bin(scope->table, start + limits.to_ns);
}

// An interval that has begun before the window may reach into it.
static bool tells_of_window(const struct scope *scope, const struct cell *cell)
{
	return cell->bin < scope->end_bin && (cell->bin >= scope->first_bin || cell->rate);
}

static bool is_of_gpu(const struct scope *scope, const struct cell *cell)
{
	return !scope->gpu || cell->metric / METRIC_COUNT == scope->gpu - 1;
}

static bool is_shown(const struct scope *scope, const struct cell *cell)
{
	return tells_of_window(scope, cell) && is_of_gpu(scope, cell);
}

static uint64_t idle_time(const struct scope *scope)
{
	const struct cells *cells = scope->table;
	uint64_t ns = 0;

	for (uint32_t i = 0; i < cells->count; i++)
		if (tells_of_window(scope, &cells->cells[i]) &&
		    scope_is_idle(scope, &cells->cells[i]))
			ns += scope_ns(scope, &cells->cells[i]);
	return ns;
}

static void sort_cells(struct scope *scope)
{
	const struct cells *cells = scope->table;
	uint32_t *end = scope->first_cell + 1; // grows from each node's first to its end

	for (uint32_t i = 0; i < cells->count; i++)
		if (is_shown(scope, &cells->cells[i]))
			end[cells->cells[i].node]++;
	for (uint32_t node = 1; node <= profile_paths(scope->profile)->count; node++)
		end[node] += end[node - 1];
	for (uint32_t i = 0; i < cells->count; i++)
		if (is_shown(scope, &cells->cells[i]))
			scope->cells[end[cells->cells[i].node - 1]++] = i;
}

// Bytes instead of nanoseconds, all of them in the first bin.
static bool fill_bytes(struct cells *bytes, const struct allocations *from, enum query_of of)
{
	if (!cells_init(bytes))
		return false;
	for (uint32_t i = 0; i < from->site_count; i++) {
		const struct allocation_site *site = &from->sites[i];
		const struct cell cell = {
			.ns = of == QUERY_LIVE ? allocations_site_peak(from, site)
			                       : site->allocated_bytes,
			.node = site->node,
			.samples = (uint32_t)site->samples,
		};
		if (cell.ns && !cells_put(bytes, &cell))
			return false;
	}
	return true;
}

static const struct cells *table_of(const struct scope *scope, const struct query *query)
{
	if (query->of == QUERY_GPU)
		return &profile_gpu(scope->profile)->paths;
	if (query->of == QUERY_GPU_IDLE)
		return &profile_gpu(scope->profile)->idle;
	if (query->of == QUERY_WALL)
		return &profile_wall_time(scope->profile)->cells;
	return of_memory(query) ? &scope->bytes : profile_cells(scope->profile);
}

static int fill(struct scope *scope, const struct profile *p, const struct query *query,
                struct error *err)
{
	size_t nodes = (size_t)profile_paths(p)->count + 2;

	*scope = (struct scope){ .profile = p, .whole_run = !query->from_ns && !query->to_ns };
	scope->gpu = query->of == QUERY_GPU_IDLE ? query->gpu : 0;
	scope->table = table_of(scope, query);
	if (of_memory(query) && !fill_bytes(&scope->bytes, profile_allocations(p), query->of)) {
		scope_fini(scope);
		return error_set(err, ENOMEM, "could not rank the memory");
	}
	scope->threads = scope_choose_threads(p, query, err);
	if (!scope->threads) {
		scope_fini(scope);
		return -1;
	}
	scope->first_child = calloc(nodes, sizeof(*scope->first_child));
	scope->sibling = calloc(nodes, sizeof(*scope->sibling));
	scope->first_cell = calloc(nodes + 1, sizeof(*scope->first_cell));
	scope->cells = calloc((size_t)scope->table->count + 1, sizeof(*scope->cells));
	if (!scope->first_child || !scope->sibling || !scope->first_cell || !scope->cells) {
		scope_fini(scope);
		return error_set(err, ENOMEM, "could not rank the profile");
	}
	choose_bins(scope, query);
	if (leaves_idle_out(query) &&
	    !(scope->idle = idle_nodes(p, scope->threads, scope->first_bin, scope->end_bin))) {
		scope_fini(scope);
		return error_set(err, ENOMEM, "could not rank the profile");
	}
	choose_metrics(scope, query);
	link_nodes(scope);
	sort_cells(scope);
	scope->idle_ns = idle_time(scope);
	return 0;
}

static void release_kept(void *scope)
{
	release(scope);
	free(scope);
}

// What SCOPE points to is kept from now on, if it can be.
static void keep(const struct kept_key *key, struct scope *scope)
{
	struct scope *copy = key->works ? malloc(sizeof(*copy)) : NULL;

	if (!copy)
		return;
	*copy = *scope;
	if (copy->table == &scope->bytes)
		copy->table = &copy->bytes;
	if (!kept_add(key, copy, release_kept)) {
		free(copy);
		return;
	}
	*scope = *copy;
	scope->borrowed = true;
}

int scope_init(struct scope *scope, const struct profile *p, const struct query *query,
               struct error *err)
{
	const struct kept_key key = kept_key(
		p, "scope %d %d%d%d %d %" PRIu64 " %" PRIu64 " %u %zu %s %s", query->of,
		query->on_cpu, query->off_cpu, query->without_others, leaves_idle_out(query),
		query->from_ns, query->to_ns, query->gpu,
		query->thread ? strlen(query->thread) + 1 : 0, query->thread ? query->thread : "",
		query->process ? query->process : "\n");
	const struct scope *kept = kept_find(&key);

	if (kept) {
		*scope = *kept;
		scope->borrowed = true;
		return 0;
	}
	if (fill(scope, p, query, err) < 0)
		return -1;
	keep(&key, scope);
	return 0;
}

struct step scope_first(const struct scope *scope)
{
	return (struct step){ scope->first_root, true };
}

struct step scope_next(const struct scope *scope, struct step step)
{
	uint32_t child = step.entering ? scope->first_child[step.node - 1] : 0;

	if (child)
		return (struct step){ child, true };
	if (step.entering)
		return (struct step){ step.node, false };
	if (scope->sibling[step.node - 1])
		return (struct step){ scope->sibling[step.node - 1], true };
	return (struct step){ profile_node(scope->profile, step.node)->parent, false };
}

bool scope_shown(const struct keys *keys, uint32_t owner, uint32_t frame)
{
	(void)owner;
	return !keys->frames[frame].hidden;
}

bool scope_user_code(const struct keys *keys, uint32_t owner, uint32_t frame)
{
	const struct key_frame *f = &keys->frames[frame];

	return scope_shown(keys, owner, frame) && (f->user || (f->ours && owner == OWNER_NONE));
}

uint32_t *scope_owners(const struct scope *scope, const struct keys *keys, takes_over *takes)
{
	const struct paths *paths = profile_paths(scope->profile);
	uint32_t *owners = calloc((size_t)paths->count + 1, sizeof(*owners));

	// Callers come before their callees, who take over what they have.
	for (uint32_t id = 1; owners && id <= paths->count; id++) {
		const struct path_node *node = paths_node(paths, id);
		owners[id - 1] = node->parent ? owners[node->parent - 1] : OWNER_NONE;
		if (!node->parent)
			continue;
		for (uint32_t at = keys->first[node->location - 1];
		     at < keys->first[node->location]; at++)
			if (takes(keys, owners[id - 1], at))
				owners[id - 1] = at;
	}
	return owners;
}
