// SPDX-License-Identifier: MIT
#include "merge/scope/own_place.h"

#include "base/origin.h"
#include "merge/profile/profile_parts.h"

const struct place *own_place_at(const struct profile *p, const struct location *location)
{
	const struct place *places = profile_places(p, location);
	const struct module *module = profile_module(p, location->module);

	for (uint32_t i = 0; location->kind != FRAME_OP && i < location->place_count; i++) {
		const char *file = profile_string(p, places[i].file);
		if (places[i].line && file &&
		    !origin_is_foreign(module ? module->path : NULL, file))
			return &places[i];
	}
	return NULL;
}

const struct place *own_place_above(const struct profile *p, uint32_t node)
{
	const struct place *found = NULL;

	for (; !found && node && profile_node(p, node)->parent;
	     node = profile_node(p, node)->parent)
		found = own_place_at(p, profile_location(p, profile_node(p, node)->location));
	return found;
}
