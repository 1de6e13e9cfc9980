// SPDX-License-Identifier: MIT
#include "merge/scope/libc_frames.h"

#include "base/cleanup.h"
#include "base/origin.h"
#include "merge/profile/profile_parts.h"
#include "merge/scope/kept.h"
#include "merge/table/cells.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 3 // functions of that way, one within the other
#define MOSTLY    9 // times as much in that way as in all else

// One location's time.
struct within {
	uint64_t found_ns;  // in what it calls of that way
	uint64_t others_ns; // in all else
};

static bool is_named_so(const char *name)
{
	return strcmp(name, "__syscall_cancel_arch") == 0 ||
	       strcmp(name, "__internal_syscall_cancel") == 0 ||
	       strcmp(name, "__syscall_cancel") == 0;
}

// [location - 1]: whether it is in the C library. Each module's path is looked at once: the nodes
// are asked about several times. NULL if there is no memory.
static bool *find_libc(const struct profile *p)
{
	const struct locations *l = profile_locations(p);
	bool *libc = calloc((size_t)l->count + 1, sizeof(*libc));
	uint32_t modules = 0;

	while (profile_module(p, modules + 1))
		modules++;
	cleanup_free bool *of_module = calloc((size_t)modules + 1, sizeof(*of_module));
	if (!libc || !of_module) {
		free(libc);
		return NULL;
	}
	for (uint32_t id = 1; id <= modules; id++)
		of_module[id] = origin_is_libc(profile_module(p, id)->path);
	for (uint32_t i = 0; i < l->count; i++)
		libc[i] = l->locations[i].module <= modules && of_module[l->locations[i].module];
	return libc;
}

// Its own name: that of the function that really stands there.
static const char *name_of(const struct profile *p, const struct location *location)
{
	const struct place *places = profile_places(p, location);
	uint32_t count = location->place_count;

	return count ? profile_string(p, places[count - 1].function) : NULL;
}

static bool is_native(const struct location *location)
{
	return location->kind == FRAME_EXACT || location->kind == FRAME_RETURN;
}

// A wait that a system call has begun: any instruction may wait for a page or for a CPU.
static bool is_call(int metric)
{
	return metric == METRIC_OFF_LOCK || metric == METRIC_OFF_FILE || metric == METRIC_OFF_NET ||
	       metric == METRIC_OFF_PIPE || metric == METRIC_OFF_SLEEP ||
	       metric == METRIC_OFF_CHILD;
}

static void find_named(const struct profile *p, const bool *libc, bool *nameless, bool *found)
{
	for (uint32_t id = 1; id <= profile_locations(p)->count; id++) {
		const struct location *location = profile_location(p, id);
		if (!is_native(location))
			continue;
		const char *name = name_of(p, location);
		found[id - 1] = name && is_named_so(name);
		nameless[id - 1] = !name && libc[id - 1];
	}
}

// The library's own code calls it.
static bool is_inner(const struct profile *p, const bool *libc, const struct path_node *node)
{
	const struct path_node *parent = node->parent ? profile_node(p, node->parent) : NULL;

	return parent && parent->parent && libc[parent->location - 1];
}

static void find_waiting(const struct profile *p, const bool *libc, const bool *nameless,
                         bool *found)
{
	for (uint32_t i = 0; i < profile_cells(p)->count; i++) {
		const struct cell *cell = &profile_cells(p)->cells[i];
		const struct path_node *node = profile_node(p, cell->node);
		if (is_call(cell->metric) && is_inner(p, libc, node) &&
		    nameless[node->location - 1])
			found[node->location - 1] = true;
	}
}

// [node - 1]: the time that was spent in the node and below it. NULL if there is no memory.
static uint64_t *times_of_nodes(const struct profile *p)
{
	const struct cells *cells = profile_cells(p);
	uint32_t count = profile_paths(p)->count;
	uint64_t *times = calloc((size_t)count + 1, sizeof(*times));

	if (!times)
		return NULL;
	for (uint32_t i = 0; i < cells->count; i++)
		times[cells->cells[i].node - 1] += cells_whole(cells, &cells->cells[i]);
	for (uint32_t id = count; id > 0; id--) { // callers come before what they call
		uint32_t parent = profile_node(p, id)->parent;
		if (parent)
			times[parent - 1] += times[id - 1];
	}
	return times;
}

// Who spends its time in what is found.
static bool find_callers(const struct profile *p, const uint64_t *times, const bool *nameless,
                         bool *found, struct within *within)
{
	bool more = false;

	memset(within, 0, profile_locations(p)->count * sizeof(*within));
	for (uint32_t id = 1; id <= profile_paths(p)->count; id++) {
		const struct path_node *node = profile_node(p, id);
		if (!node->parent)
			continue; // a thread
		within[node->location - 1].others_ns += times[id - 1];
		const struct path_node *parent = profile_node(p, node->parent);
		if (!parent->parent || !found[node->location - 1])
			continue;
		within[parent->location - 1].found_ns += times[id - 1];
		within[parent->location - 1].others_ns -= times[id - 1];
	}
	for (uint32_t id = 1; id <= profile_locations(p)->count; id++) {
		const struct within *w = &within[id - 1];
		bool caller = profile_location(p, id)->kind == FRAME_RETURN;
		if (!caller || found[id - 1] || !nameless[id - 1] ||
		    w->found_ns <= MOSTLY * w->others_ns)
			continue;
		found[id - 1] = true;
		more = true;
	}
	return more;
}

// What is mostly called by others than the library's own code, or by somebody unknown, stays what
// it is: a function that has a name may have been left by a jump.
static void leave_outermost(const struct profile *p, const bool *libc, const uint64_t *times,
                            const bool *nameless, bool *found, struct within *within)
{
	memset(within, 0, profile_locations(p)->count * sizeof(*within));
	for (uint32_t id = 1; id <= profile_paths(p)->count; id++) {
		const struct path_node *node = profile_node(p, id);
		if (!node->parent)
			continue;
		struct within *w = &within[node->location - 1];
		*(is_inner(p, libc, node) ? &w->found_ns : &w->others_ns) += times[id - 1];
	}
	for (uint32_t id = 1; id <= profile_locations(p)->count; id++)
		if (nameless[id - 1] && within[id - 1].found_ns <= within[id - 1].others_ns)
			found[id - 1] = false;
}

static bool is_start(const struct profile *p, const struct location *location)
{
	const char *name = name_of(p, location);

	return name && strcmp(name, "_start") == 0;
}

// What has no name and is between the beginning of a thread and its code.
static void find_beginnings(const struct profile *p, const bool *libc, const uint64_t *times,
                            const bool *nameless, bool *found, struct within *within, bool *begins)
{
	memset(within, 0, profile_locations(p)->count * sizeof(*within));
	for (uint32_t id = 1; id <= profile_paths(p)->count; id++) {
		const struct path_node *node = profile_node(p, id);
		if (!node->parent) {
			begins[id - 1] = true;
			continue;
		}
		const struct location *location = profile_location(p, node->location);
		begins[id - 1] = begins[node->parent - 1] && is_native(location) &&
		                 (libc[node->location - 1] || is_start(p, location));
		struct within *w = &within[node->location - 1];
		*(begins[id - 1] ? &w->found_ns : &w->others_ns) += times[id - 1];
	}
	for (uint32_t id = 1; id <= profile_locations(p)->count; id++) {
		const struct within *w = &within[id - 1];
		if (nameless[id - 1] && profile_location(p, id)->kind == FRAME_RETURN &&
		    w->found_ns > MOSTLY * w->others_ns)
			found[id - 1] = true;
	}
}

static bool *find(const struct profile *p)
{
	size_t count = (size_t)profile_locations(p)->count + 1;
	cleanup_free bool *found = calloc(count, sizeof(*found));
	cleanup_free bool *nameless = calloc(count, sizeof(*nameless));
	cleanup_free struct within *within = calloc(count, sizeof(*within));
	cleanup_free uint64_t *times = times_of_nodes(p);
	cleanup_free bool *begins = calloc((size_t)profile_paths(p)->count + 1, sizeof(*begins));
	cleanup_free bool *libc = find_libc(p);

	if (!found || !nameless || !within || !times || !begins || !libc)
		return NULL;
	find_named(p, libc, nameless, found);
	find_waiting(p, libc, nameless, found);
	for (int i = 0; i < DEPTH_MAX && find_callers(p, times, nameless, found, within); i++)
		;
	leave_outermost(p, libc, times, nameless, found, within);
	find_beginnings(p, libc, times, nameless, found, within, begins);
	return steal(found);
}

bool *libc_frames(const struct profile *p)
{
	const struct kept_key key = kept_key(p, "libc frames");
	size_t size = (size_t)profile_locations(p)->count + 1;
	const bool *kept = kept_find(&key);
	bool *copy = malloc(size);

	if (!copy)
		return NULL;
	if (kept)
		return memcpy(copy, kept, size);
	bool *found = find(p);
	if (found && kept_add(&key, memcpy(copy, found, size), free))
		return found;
	free(copy);
	return found;
}
