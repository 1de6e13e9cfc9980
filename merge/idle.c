// SPDX-License-Identifier: MIT
#include "merge/idle.h"

#include "base/origin.h"

#include <stdlib.h>

// Whether code at LOCATION may be the user's. What is not known may be.
static bool may_be_own(const struct profile *p, const struct location *location)
{
	const struct place *places = locations_places(&p->locations, location);
	const struct module *module = modules_get(p->modules, location->module);
	const char *path = module ? module->path : NULL;

	if (location->kind == FRAME_MARK)
		return location->address != MARK_KERNEL;
	if (location->kind == FRAME_OP || (module && module->kind == MODULE_JIT))
		return true;
	if (module && module->kind == MODULE_KERNEL)
		return false;
	for (uint32_t i = 0; i < location->place_count; i++)
		if (!origin_is_foreign(path, strings_get(p->strings, places[i].file)))
			return true;
	return !location->place_count && (!path || !origin_is_foreign(path, NULL));
}

static bool is_first(const struct profile *p, uint32_t slot)
{
	const struct thread_info *info = threads_get(&p->threads, slot);
	const struct process_info *process = threads_process(&p->threads, info->process);

	return !process || info->tid == process->pid;
}

bool *idle_nodes(const struct profile *p, const bool *threads)
{
	bool *idle = calloc((size_t)p->paths.count + 1, sizeof(*idle));

	for (uint32_t id = 1; idle && id <= p->paths.count; id++) {
		const struct path_node *node = paths_node(&p->paths, id);
		if (!node->parent)
			idle[id - 1] = threads[node->location - 1] && !is_first(p, node->location);
		else if (idle[node->parent - 1])
			idle[id - 1] = !may_be_own(p, locations_get(&p->locations, node->location));
	}
	return idle;
}
