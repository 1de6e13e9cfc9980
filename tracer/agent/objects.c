// SPDX-License-Identifier: MIT
#include "tracer/agent/objects.h"

#include <link.h>

#define PAGE ((uintptr_t)4096)

struct look {
	struct objects *objects;
	uint64_t loads, unloads;
	bool unchanged;
};

// False if it has nothing in memory.
static bool extent(const struct dl_phdr_info *info, uintptr_t *start, uintptr_t *end)
{
	*start = UINTPTR_MAX;
	*end = 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t low = info->dlpi_addr + segment->p_vaddr;
		if (segment->p_type != PT_LOAD)
			continue;
		if (low < *start)
			*start = low & ~(PAGE - 1);
		if (low + segment->p_memsz > *end)
			*end = (low + segment->p_memsz + PAGE - 1) & ~(PAGE - 1);
	}
	return *end > *start;
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
	uintptr_t start, end;

	(void)size;
	look->loads = info->dlpi_adds;
	look->unloads = info->dlpi_subs;
	look->unchanged =
		look->loads == look->objects->loads && look->unloads == look->objects->unloads;
	if (look->unchanged)
		return 1; // the first object tells: no more of them are asked for
	if (extent(info, &start, &end))
		note(look->objects, start, end);
	return 0;
}

bool objects_look(struct objects *o, void (*gone)(void *context, uintptr_t start, uintptr_t end),
                  void *context)
{
	struct look look = { .objects = o };

	for (uint32_t i = 0; i < o->count; i++)
		o->known[i].seen = false;
	dl_iterate_phdr(visit, &look);
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
