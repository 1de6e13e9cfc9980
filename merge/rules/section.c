// SPDX-License-Identifier: MIT
#include "merge/rules/section.h"

#include "base/cleanup.h"
#include "base/strings.h"
#include "merge/profile/profile_parts.h"
#include "merge/query/query_waits.h"
#include "merge/rules/activity.h"

#include <stdlib.h>
#include <string.h>

// What is at a node or above it, and of a root: what is anywhere below it.
enum {
	TAKER = 1 << 0,  // the function that waits for the lock
	HOLDER = 1 << 1, // the one that the holder was seen in
	LOCKS = 1 << 2,  // one that takes a lock
	WORKS = 1 << 3,  // the taker calls something else
};

static bool is_side(const struct profile *p, const struct place *place,
                    const struct wait_side *side)
{
	return place->function && strcmp(profile_string(p, place->function), side->function) == 0 &&
	       (!side->file || strings_same(profile_string(p, place->file), side->file));
}

static uint8_t look_at(const struct profile *p, const struct location *location,
                       const struct wait_side *waiter, const struct wait_side *holder)
{
	const struct place *places = profile_places(p, location);
	uint8_t seen = 0;

	for (uint32_t i = 0; i < location->place_count; i++) {
		const char *function = profile_string(p, places[i].function);
		seen |= is_side(p, &places[i], waiter) ? TAKER : 0;
		seen |= is_side(p, &places[i], holder) ? HOLDER : 0;
		if (function &&
		    activity_of(function, profile_string(p, places[i].file)) & ACTIVITY(MUTEX))
			seen |= LOCKS;
	}
	return seen;
}

bool section_is_elsewhere(const struct profile *p, const struct wait_side *waiter,
                          const struct wait_side *holder)
{
	const struct paths *paths = profile_paths(p);
	const struct locations *locations = profile_locations(p);
	cleanup_free uint8_t *at = calloc(locations->count + 1u, sizeof(*at));
	cleanup_free uint8_t *above = calloc(paths->count + 1u, sizeof(*above));
	cleanup_free uint8_t *below = calloc(paths->count + 1u, sizeof(*below));
	cleanup_free uint32_t *roots = calloc(paths->count + 1u, sizeof(*roots));
	bool held = false;

	if (!at || !above || !below || !roots || !waiter->function || !holder->function)
		return false;
	for (uint32_t id = 1; id <= locations->count; id++)
		at[id] = look_at(p, locations_get(locations, id), waiter, holder);
	for (uint32_t id = 1; id <= paths->count; id++) {
		const struct path_node *node = paths_node(paths, id);
		roots[id] = node->parent ? roots[node->parent] : id;
		if (!node->parent)
			continue;
		uint8_t here = at[node->location], caller = above[node->parent];
		above[id] = caller | here;
		if ((above[id] & (TAKER | HOLDER)) == (TAKER | HOLDER) ||
		    (above[id] & (HOLDER | LOCKS)) == (HOLDER | LOCKS))
			return false;
		below[roots[id]] |= here & (TAKER | HOLDER);
		if (caller & TAKER && !(above[id] & LOCKS))
			below[roots[id]] |= WORKS;
	}
	for (uint32_t id = 1; id <= paths->count; id++) {
		const uint8_t needed = TAKER | WORKS;
		if (!(below[id] & HOLDER))
			continue;
		if ((below[id] & needed) != needed)
			return false;
		held = true;
	}
	return held;
}
