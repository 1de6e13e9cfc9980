// SPDX-License-Identifier: MIT
#include "merge/scope/own_place.h"

#include "base/origin.h"
#include "merge/profile/profile_parts.h"

#include <stdlib.h>

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

struct own_places own_places_of(const struct profile *p)
{
	return (struct own_places){
		.profile = p,
		.of = calloc((size_t)profile_paths(p)->count + 1, sizeof(const struct place *)),
	};
}

const struct place *own_places_above(const struct own_places *places, uint32_t node)
{
	static const struct place none;
	const struct profile *p = places->profile;
	const struct place *found = NULL;
	uint32_t end = node;

	if (!places->of || !node)
		return own_place_above(p, node);
	for (; profile_node(p, end)->parent; end = profile_node(p, end)->parent) {
		found = places->of[end - 1];
		if (!found)
			found = own_place_at(p,
			                     profile_location(p, profile_node(p, end)->location));
		if (found)
			break;
	}
	found = found ? found : &none;
	// It is that of all from NODE up to where it was found, or to the root.
	for (uint32_t at = node; at != end; at = profile_node(p, at)->parent)
		places->of[at - 1] = found;
	places->of[end - 1] = found;
	return found == &none ? NULL : found;
}
