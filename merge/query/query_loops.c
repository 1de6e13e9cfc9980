// SPDX-License-Identifier: MIT
#include "merge/query/query_loops.h"

#include "base/cleanup.h"
#include "merge/profile/profile_parts.h"
#include "merge/table/cells.h"

#include <stdlib.h>
#include <string.h>

static bool is_nameless_in(const struct profile *p, const struct location *location,
                           const char *path)
{
	const struct module *module = location->module ? profile_module(p, location->module) : NULL;

	return module && module->path && !location->place_count && strcmp(module->path, path) == 0;
}

// CPU time by location, [id - 1].
static uint64_t *times_of(const struct profile *p, const char *module, uint64_t *all_ns)
{
	const struct cells *cells = profile_cells(p);
	uint32_t count = profile_locations(p)->count;
	uint64_t *ns = calloc((size_t)count + 1, sizeof(*ns));

	for (uint32_t i = 0; ns && i < cells->count; i++) {
		const struct cell *cell = &cells->cells[i];
		const struct path_node *node = profile_node(p, cell->node);
		if (cell->metric != METRIC_ON_CPU || !node->parent || !node->location ||
		    node->location > count ||
		    !is_nameless_in(p, profile_location(p, node->location), module))
			continue;
		ns[node->location - 1] += cells_whole(cells, cell);
		*all_ns += cells_whole(cells, cell);
	}
	return ns;
}

// What samples of the same fact took together, and the address of the one that took most.
static struct nameless_loop add_up(const struct profile *p, const uint64_t *ns, uint32_t fact)
{
	struct nameless_loop loop = { 0 };
	uint64_t most = 0;

	for (uint32_t id = 1; id <= profile_locations(p)->count; id++) {
		const struct location *location = profile_location(p, id);
		if (!ns[id - 1] || location->loop != fact)
			continue;
		loop.ns += ns[id - 1];
		if (ns[id - 1] > most) {
			most = ns[id - 1];
			loop.address = location->address;
		}
	}
	return loop;
}

// Facts at no line are few: kinds, with the distances that they have.
#define FACTS_MAX 64

bool query_nameless_loop(const struct profile *p, const char *module, struct nameless_loop *loop)
{
	uint32_t seen[FACTS_MAX], count = 0;
	uint64_t all_ns = 0;
	cleanup_free uint64_t *ns = times_of(p, module, &all_ns);

	*loop = (struct nameless_loop){ 0 };
	for (uint32_t id = 1; ns && id <= profile_locations(p)->count; id++) {
		uint32_t fact = ns[id - 1] ? profile_location(p, id)->loop : 0;
		bool again = !fact;
		for (uint32_t i = 0; i < count && !again; i++)
			again = seen[i] == fact;
		if (again || count == FACTS_MAX)
			continue;
		seen[count++] = fact;
		struct nameless_loop found = add_up(p, ns, fact);
		if (found.ns > loop->ns && loop_fact_parse(profile_string(p, fact), &found.fact))
			*loop = found;
	}
	loop->all_ns = all_ns;
	return loop->ns > 0;
}
