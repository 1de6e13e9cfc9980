// SPDX-License-Identifier: MIT
#include "merge/join/merger_slots.h"

#include "base/array.h"

#include <stdlib.h>

void merger_slots_fini(struct merger_slots *s)
{
	free(s->groups);
	free(s->next);
	hash_fini(&s->index);
	*s = (struct merger_slots){ 0 };
}

// NULL if there is no memory.
static struct merger_group *group_of(struct merger_slots *s, uint32_t owner, uint32_t name)
{
	struct hash *h = &s->index;
	uint32_t at;

	if ((!h->slots && !hash_init(h, 64)) || !hash_make_room(h))
		return NULL;
	for (at = hash_start(h, hash_pair(owner, name)); h->slots[at]; at = hash_next(h, at)) {
		struct merger_group *group = &s->groups[h->slots[at] - 1];
		if (group->owner == owner && group->name == name)
			return group;
	}
	if (!array_reserve(&s->groups, &s->group_capacity, (size_t)s->group_count + 1))
		return NULL;
	s->groups[s->group_count++] = (struct merger_group){ .owner = owner, .name = name };
	hash_insert(h, at, hash_pair(owner, name), s->group_count);
	return &s->groups[s->group_count - 1];
}

uint32_t merger_slots_take(struct merger_slots *s, uint32_t part, uint32_t owner, uint32_t name,
                           uint32_t most)
{
	struct merger_group *group = group_of(s, owner, name);

	if (!group)
		return 0;
	if (group->part != part) {
		group->part = part;
		group->taken = 0;
	}
	uint32_t *next = group->taken ? &s->next[group->taken - 1] : &group->first;
	if (*next)
		return group->taken = *next;
	if (s->count >= most) // with those before it, or, if there are none, with anybody
		return group->taken ? group->taken : s->count;
	if (!array_reserve(&s->next, &s->capacity, (size_t)s->count + 1))
		return 0;
	next = group->taken ? &s->next[group->taken - 1] : &group->first; // they may have moved
	s->next[s->count++] = 0;
	return group->taken = *next = s->count;
}
