// SPDX-License-Identifier: MIT
// What a profile is told of memory.
#include "merge/profile/profile_data.h"

// The slot of a process that runs and is kept apart: only then is it one address space. Or 0.
static uint32_t slot_apart(const struct profile *p, uint32_t process)
{
	const struct process_info *info = threads_process(&p->threads, process);

	return info && process <= p->threads.limit && !info->end_ns ? process : 0;
}

void profile_add_alloc(struct profile *p, const struct alloc_event *event)
{
	uint32_t slot = threads_slot(&p->threads, event->thread);
	struct stack stack = {
		.thread = event->thread,
		.flags = event->flags,
		.count = event->count,
		.frames = event->frames,
	};
	uint32_t node = slot ? profile_add_path(p, slot, &stack) : 0;

	profile_note_time(p, event->time_ns);
	if (!node) {
		p->allocations.lost++;
		return;
	}
	allocations_add(&p->allocations, slot_apart(p, threads_get(&p->threads, slot)->process),
	                node, event);
}

void profile_add_free(struct profile *p, const struct free_event *event)
{
	allocations_free(&p->allocations, slot_apart(p, event->process), event->address);
}

void profile_add_memory(struct profile *p, const struct memory_event *event)
{
	profile_note_time(p, event->time_ns);
	allocations_count(&p->allocations, slot_apart(p, event->process), event);
}
