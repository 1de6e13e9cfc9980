// SPDX-License-Identifier: MIT
#include "merge/rules/loaders.h"

#include "base/error.h"
#include "merge/scope/scope.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum part {
	ELSEWHERE,
	LOOP,
	GET // of the queue that it is told by
};

struct looking {
	const struct profile *profile;
	struct scope scope;
	uint8_t *parts;   // [node - 1]: enum part, of the node and so of what is below it
	uint32_t *roots;  // [node - 1]: slot of the thread
	uint64_t *starts; // of the workers' threads
	uint64_t *ends;
	uint32_t count;
	bool *known; // [slot - 1]
};

static void looking_fini(struct looking *l)
{
	scope_fini(&l->scope);
	free(l->parts);
	free(l->roots);
	free(l->starts);
	free(l->ends);
	free(l->known);
}

static inline void looking_at_scope_end(struct looking *l)
{
	looking_fini(l);
}

static bool looking_init(struct looking *l)
{
	size_t nodes = l->profile->paths.count, threads = l->profile->threads.thread_count;

	l->parts = calloc(nodes + 1, sizeof(*l->parts));
	l->roots = calloc(nodes + 1, sizeof(*l->roots));
	l->starts = calloc(threads + 1, sizeof(*l->starts));
	l->ends = calloc(threads + 1, sizeof(*l->ends));
	l->known = calloc(threads + 1, sizeof(*l->known));
	return l->parts && l->roots && l->starts && l->ends && l->known;
}

static enum part part_of(const struct looking *l, const struct path_node *node)
{
	const struct location *at = locations_get(&l->profile->locations, node->location);
	enum part around = l->parts[node->parent - 1];

	if (around == ELSEWHERE &&
	    profile_is_python(l->profile, at, "_worker_loop", "torch/utils/data/_utils/worker.py"))
		return LOOP;
	if (around == LOOP && profile_is_python(l->profile, at, "get", "multiprocessing/queues.py"))
		return GET;
	return around;
}

static void add_worker(struct looking *l, uint32_t slot, struct loaders *loaders)
{
	const struct thread_info *thread = threads_get(&l->profile->threads, slot);

	if (l->known[slot - 1])
		return;
	l->known[slot - 1] = true;
	loaders->started += thread->merged ? thread->merged : 1;
	l->starts[l->count] = thread->start_ns;
	l->ends[l->count++] = thread->end_ns ? thread->end_ns : UINT64_MAX;
}

static void add_time(const struct looking *l, uint32_t node, struct loaders *loaders)
{
	for (uint32_t i = l->scope.first_cell[node - 1]; i < l->scope.first_cell[node]; i++) {
		const struct cell *cell = &l->scope.table->cells[l->scope.cells[i]];
		uint64_t ns = scope_ns(&l->scope, cell);
		loaders->life_ns += ns;
		if (l->parts[node - 1] == GET)
			loaders->idle_ns += ns;
		else if (cell->metric == METRIC_OFF_RUNNABLE)
			loaders->runnable_ns += ns;
	}
}

// The most that live at one moment, which is one at which another has just begun.
static uint32_t most_at_once(const struct looking *l)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < l->count; i++) {
		uint32_t now = 0;
		for (uint32_t k = 0; k < l->count; k++)
			now += l->starts[k] <= l->starts[i] && l->starts[i] < l->ends[k];
		most = now > most ? now : most;
	}
	return most;
}

static void look(struct looking *l, struct loaders *loaders)
{
	const struct paths *paths = &l->profile->paths;

	for (uint32_t id = 1; id <= paths->count; id++) {
		const struct path_node *node = paths_node(paths, id);
		l->roots[id - 1] = node->parent ? l->roots[node->parent - 1] : node->location;
		if (!node->parent)
			continue;
		l->parts[id - 1] = part_of(l, node);
		if (l->parts[id - 1] == ELSEWHERE)
			continue;
		add_worker(l, l->roots[id - 1], loaders);
		add_time(l, id, loaders);
	}
	loaders->at_once = most_at_once(l);
}

int loaders_look(const struct profile *p, const struct query *query, struct loaders *loaders,
                 struct error *err)
{
	const struct query window = { .from_ns = query->from_ns, .to_ns = query->to_ns };
	cleanup(looking) struct looking l = { .profile = p };

	*loaders = (struct loaders){ 0 };
	if (scope_init(&l.scope, p, &window, err) < 0)
		return -1;
	if (!looking_init(&l))
		return error_set(err, ENOMEM, "could not look for workers");
	look(&l, loaders);
	return 0;
}
