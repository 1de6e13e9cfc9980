// SPDX-License-Identifier: MIT
#include "merge/scope/own_place.h"

#include "base/origin.h"
#include "merge/profile/profile_parts.h"
#include "merge/scope/kept.h"

#include <stdlib.h>

#define ASKED       1
#define FOREIGN     2
#define INTERPRETER 4

static uint8_t look_at(const struct profile *p, const struct location *location,
                       const struct place *place)
{
	const struct module *module = profile_module(p, location->module);
	const char *path = module ? module->path : NULL;
	bool foreign = origin_is_foreign(path, profile_string(p, place->file));

	return ASKED | (foreign ? FOREIGN : 0) |
	       (path && origin_is_interpreter(path) ? INTERPRETER : 0);
}

static uint8_t origin_of(const struct profile *p, const struct location *location,
                         const struct place *place)
{
	const struct locations *l = profile_locations(p);
	uint8_t *origins = kept_origins(p);

	if (!origins || place < l->places || place >= l->places + l->place_count)
		return look_at(p, location, place);
	uint8_t *known = &origins[place - l->places];
	if (!*known)
		*known = look_at(p, location, place);
	return *known;
}

bool place_is_foreign(const struct profile *p, const struct location *location,
                      const struct place *place)
{
	return origin_of(p, location, place) & FOREIGN;
}

bool place_is_interpreters(const struct profile *p, const struct location *location,
                           const struct place *place)
{
	return origin_of(p, location, place) & INTERPRETER;
}

const struct place *own_place_at(const struct profile *p, const struct location *location)
{
	const struct place *places = profile_places(p, location);

	for (uint32_t i = 0; location->kind != FRAME_OP && i < location->place_count; i++)
		if (places[i].line && profile_string(p, places[i].file) &&
		    !place_is_foreign(p, location, &places[i]))
			return &places[i];
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
