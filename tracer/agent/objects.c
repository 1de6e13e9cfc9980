// SPDX-License-Identifier: MIT
#include "tracer/agent/objects.h"

#include "tracer/agent/loaded.h"
#include "tracer/agent/loader.h"

#include <link.h>

#define PAGE ((uintptr_t)4096)

struct look {
	struct objects *objects;
	uint64_t loads, unloads;
	bool unchanged;
};

// In whole pages.
static struct loaded_span pages_of(const struct dl_phdr_info *info)
{
	struct loaded_span span = loaded_span(info);

	return (struct loaded_span){ span.start & ~(PAGE - 1),
		                     (span.end + PAGE - 1) & ~(PAGE - 1) };
}

static void note(struct objects *o, uintptr_t start, uintptr_t end)
{
	for (uint32_t i = 0; i < o->count; i++)
		if (o->known[i].start == start && o->known[i].end == end) {
			o->known[i].seen = true;
			return;
		}
	if (o->count < OBJECTS_MAX)
		o->known[o->count++] = (struct object){ start, end, true };
}

static int visit(struct dl_phdr_info *info, size_t size, void *context)
{
	struct look *look = context;

	(void)size;
	look->loads = info->dlpi_adds;
	look->unloads = info->dlpi_subs;
	look->unchanged =
		look->loads == look->objects->loads && look->unloads == look->objects->unloads;
	if (look->unchanged)
		return 1; // the first object tells: no more of them are asked for
	struct loaded_span span = pages_of(info);
	if (span.end > span.start)
		note(look->objects, span.start, span.end);
	return 0;
}

bool objects_look(struct objects *o, void (*gone)(void *context, uintptr_t start, uintptr_t end),
                  void *context)
{
	struct look look = { .objects = o };

	for (uint32_t i = 0; i < o->count; i++)
		o->known[i].seen = false;
	loader_each(visit, &look);
	if (look.unchanged)
		return false;
	for (uint32_t i = o->count; i-- > 0;) {
		if (o->known[i].seen)
			continue;
		gone(context, o->known[i].start, o->known[i].end);
		o->known[i] = o->known[--o->count];
	}
	bool loaded = look.loads != o->loads;
	o->loads = look.loads;
	o->unloads = look.unloads;
	return loaded;
}
