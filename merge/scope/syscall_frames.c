// SPDX-License-Identifier: MIT
#include "merge/scope/syscall_frames.h"

#include "base/cleanup.h"
#include "base/path.h"
#include "merge/profile/profile_data.h"

#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 3 // functions of that way, one within the other

enum {
	CALLS_FOUND = 1,
	CALLS_OTHERS = 2
};

static bool is_named_so(const char *name)
{
	return strcmp(name, "__syscall_cancel_arch") == 0 ||
	       strcmp(name, "__internal_syscall_cancel") == 0 ||
	       strcmp(name, "__syscall_cancel") == 0;
}

static bool is_libc(const struct profile *p, const struct location *location)
{
	const struct module *module = modules_get(p->modules, location->module);
	const char *name = module ? path_base(module->path) : "";

	return strncmp(name, "libc.so", 7) == 0 || strncmp(name, "libc-2.", 7) == 0 ||
	       strncmp(name, "libpthread", 10) == 0;
}

// Its own name: that of the function that really stands there.
static const char *name_of(const struct profile *p, const struct location *location)
{
	const struct place *places = locations_places(&p->locations, location);
	uint32_t count = location->place_count;

	return count ? strings_get(p->strings, places[count - 1].function) : NULL;
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

static void find_named(const struct profile *p, bool *nameless, bool *found)
{
	for (uint32_t id = 1; id <= p->locations.count; id++) {
		const struct location *location = locations_get(&p->locations, id);
		if (!is_native(location))
			continue;
		const char *name = name_of(p, location);
		found[id - 1] = name && is_named_so(name);
		nameless[id - 1] = !name && is_libc(p, location);
	}
}

static void find_waiting(const struct profile *p, const bool *nameless, bool *found)
{
	for (uint32_t i = 0; i < p->cells.count; i++) {
		const struct cell *cell = &p->cells.cells[i];
		const struct path_node *node = paths_node(&p->paths, cell->node);
		if (node->parent && is_call(cell->metric) && nameless[node->location - 1])
			found[node->location - 1] = true;
	}
}

// Who calls nothing but what is found. CALLS is room for what each location calls.
static bool find_callers(const struct profile *p, const bool *nameless, bool *found,
                         unsigned char *calls)
{
	bool more = false;

	memset(calls, 0, p->locations.count);
	for (uint32_t id = 1; id <= p->paths.count; id++) {
		const struct path_node *node = paths_node(&p->paths, id);
		const struct path_node *parent =
			node->parent ? paths_node(&p->paths, node->parent) : NULL;
		if (parent && parent->parent)
			calls[parent->location - 1] |=
				found[node->location - 1] ? CALLS_FOUND : CALLS_OTHERS;
	}
	for (uint32_t id = 1; id <= p->locations.count; id++) {
		bool caller = locations_get(&p->locations, id)->kind == FRAME_RETURN;
		if (!caller || found[id - 1] || calls[id - 1] != CALLS_FOUND || !nameless[id - 1])
			continue;
		found[id - 1] = true;
		more = true;
	}
	return more;
}

// What is not called by the library's own code, or by somebody unknown, stays what it is: a
// function that has a name may have been left by a jump.
static void leave_outermost(const struct profile *p, const bool *nameless, bool *found)
{
	for (uint32_t id = 1; id <= p->paths.count; id++) {
		const struct path_node *node = paths_node(&p->paths, id);
		const struct path_node *parent =
			node->parent ? paths_node(&p->paths, node->parent) : NULL;
		if (parent && nameless[node->location - 1] &&
		    (!parent->parent ||
		     !is_libc(p, locations_get(&p->locations, parent->location))))
			found[node->location - 1] = false;
	}
}

bool *syscall_frames(const struct profile *p)
{
	size_t count = (size_t)p->locations.count + 1;
	cleanup_free bool *found = calloc(count, sizeof(*found));
	cleanup_free bool *nameless = calloc(count, sizeof(*nameless));
	cleanup_free unsigned char *calls = calloc(count, sizeof(*calls));

	if (!found || !nameless || !calls)
		return NULL;
	find_named(p, nameless, found);
	find_waiting(p, nameless, found);
	for (int i = 0; i < DEPTH_MAX && find_callers(p, nameless, found, calls); i++)
		;
	leave_outermost(p, nameless, found);
	return steal(found);
}
