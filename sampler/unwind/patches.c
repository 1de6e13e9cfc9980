// SPDX-License-Identifier: MIT
#include "sampler/unwind/patches.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

void patches_fini(struct patches *p)
{
	for (size_t i = 0; i < p->count; i++)
		free(p->list[i].rows);
	free(p->list);
	*p = (struct patches){ 0 };
}

// Index of the first one that begins above ADDRESS.
static size_t above(const struct patches *p, uint64_t address)
{
	size_t low = 0, high = p->count;

	while (low < high) {
		size_t middle = (low + high) / 2;
		if (p->list[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool insert(struct patches *p, struct patch patch)
{
	size_t at = above(p, patch.start);
	size_t bytes = patch.row_count * sizeof(*patch.rows);
	struct patch_row *rows = malloc(bytes);

	if (!rows)
		return false;
	memcpy(rows, patch.rows, bytes);
	patch.rows = rows;
	// The same memory may be used for another library's.
	if (at && p->list[at - 1].start == patch.start) {
		free(p->list[at - 1].rows);
		p->list[at - 1] = patch;
		return true;
	}
	if (!array_reserve(&p->list, &p->capacity, p->count + 1)) {
		free(rows);
		return false;
	}
	memmove(p->list + at + 1, p->list + at, (p->count - at) * sizeof(*p->list));
	p->list[at] = patch;
	p->count++;
	return true;
}

bool patches_add(struct patches *p, const struct event_patch *event)
{
	p->slots = event->slots;
	p->slots_size = event->slots_size;
	return !event->start || !event->row_count ||
	       insert(p, (struct patch){ event->start, event->function, event->size,
	                                 event->row_count, (struct patch_row *)event->rows });
}

bool patches_copy(struct patches *to, const struct patches *from)
{
	patches_fini(to);
	for (size_t i = 0; i < from->count; i++)
		if (!insert(to, from->list[i]))
			return false;
	to->slots = from->slots;
	to->slots_size = from->slots_size;
	return true;
}

bool patched_move(struct patched *p, uint64_t *pc, uint64_t *sp)
{
	if (!p->patches)
		return false;
	if (patched_is_slot(p, *pc)) {
		uint64_t caller = patched_return(p, *sp);
		*pc = caller ? caller : *pc;
		return caller != 0;
	}
	size_t index = above(p->patches, *pc);
	const struct patch *patch = index ? &p->patches->list[index - 1] : NULL;
	if (!patch || *pc - patch->start >= patch->size)
		return false;
	uint32_t at = (uint32_t)(*pc - patch->start), row = patch->row_count - 1;
	while (row && patch->rows[row].at > at)
		row--;
	*pc = patch->function + patch->rows[row].offset;
	*sp += patch->rows[row].pushed;
	return true;
}

uint64_t patched_return(struct patched *p, uint64_t stack)
{
	return op_stack_return(p->ops, stack, &p->hint);
}
