// SPDX-License-Identifier: MIT
#include "merge/scope/own_place.h"

#include "base/origin.h"

static bool has_line(const struct profile *p, const struct place *place)
{
	return place->line && strings_get(p->strings, place->file);
}

static const struct place *first_at(const struct profile *p, const struct location *location,
                                    bool own)
{
	const struct place *places = locations_places(&p->locations, location);
	const struct module *module = modules_get(p->modules, location->module);

	for (uint32_t i = 0; location->kind != FRAME_OP && i < location->place_count; i++)
		if (has_line(p, &places[i]) &&
		    (!own || !origin_is_foreign(module ? module->path : NULL,
		                                strings_get(p->strings, places[i].file))))
			return &places[i];
	return NULL;
}

const struct place *own_place_at(const struct profile *p, const struct location *location)
{
	return first_at(p, location, true);
}

static const struct place *first_above(const struct profile *p, uint32_t node, bool own)
{
	const struct place *found = NULL;

	for (; !found && node && paths_node(&p->paths, node)->parent;
	     node = paths_node(&p->paths, node)->parent)
		found = first_at(
			p, locations_get(&p->locations, paths_node(&p->paths, node)->location),
			own);
	return found;
}

const struct place *own_place_above(const struct profile *p, uint32_t node)
{
	return first_above(p, node, true);
}

const struct place *any_place_above(const struct profile *p, uint32_t node)
{
	return first_above(p, node, false);
}
