// SPDX-License-Identifier: MIT
#include "merge/scope/own_place.h"

#include "base/origin.h"
#include "merge/profile/profile_parts.h"

static bool has_line(const struct profile *p, const struct place *place)
{
	return place->line && profile_string(p, place->file);
}

static const struct place *first_at(const struct profile *p, const struct location *location,
                                    bool own)
{
	const struct place *places = profile_places(p, location);
	const struct module *module = profile_module(p, location->module);

	for (uint32_t i = 0; location->kind != FRAME_OP && i < location->place_count; i++)
		if (has_line(p, &places[i]) &&
		    (!own || !origin_is_foreign(module ? module->path : NULL,
		                                profile_string(p, places[i].file))))
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

	for (; !found && node && profile_node(p, node)->parent;
	     node = profile_node(p, node)->parent)
		found = first_at(p, profile_location(p, profile_node(p, node)->location), own);
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
