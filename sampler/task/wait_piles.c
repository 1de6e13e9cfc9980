// SPDX-License-Identifier: MIT
#include "sampler/task/wait_piles.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

void wait_piles_fini(struct wait_piles *p)
{
	for (int i = 0; p->piles && i < WAIT_PILES_MAX; i++)
		free(p->piles[i].frames);
	free(p->piles);
	p->piles = NULL;
}

struct wait_pile *wait_piles_find(const struct wait_piles *p, uint64_t key)
{
	for (int i = 0; p->piles && i < WAIT_PILES_MAX; i++)
		if (p->piles[i].ns && p->piles[i].key == key)
			return &p->piles[i];
	return NULL;
}

struct wait_pile *wait_piles_room(struct wait_piles *p)
{
	struct wait_pile *oldest;

	if (!p->piles && !(p->piles = calloc(WAIT_PILES_MAX, sizeof(*p->piles))))
		return NULL;
	oldest = &p->piles[0];
	for (struct wait_pile *pile = p->piles; pile < p->piles + WAIT_PILES_MAX; pile++) {
		if (!pile->ns)
			return pile;
		if (pile->since_ns < oldest->since_ns)
			oldest = pile;
	}
	return oldest;
}

bool wait_pile_begin(struct wait_pile *pile, uint64_t key, const struct stack *stack)
{
	if (!array_reserve(&pile->frames, &pile->capacity, stack->count))
		return false;
	memcpy(pile->frames, stack->frames, stack->count * sizeof(*pile->frames));
	pile->key = key;
	pile->cause = stack->metric;
	pile->ns = stack->weight_ns;
	pile->since_ns = stack->time_ns;
	pile->samples = stack->samples;
	pile->count = stack->count;
	pile->flags = stack->flags;
	return true;
}

void wait_pile_add(struct wait_pile *pile, const struct stack *stack)
{
	pile->ns += stack->weight_ns;
	pile->samples += stack->samples;
}

struct stack wait_pile_take(struct wait_pile *pile, uint32_t thread, uint64_t end_ns)
{
	struct stack stack = {
		.thread = thread,
		.metric = pile->cause,
		.time_ns = pile->since_ns,
		.duration_ns = end_ns > pile->since_ns ? end_ns - pile->since_ns : pile->ns,
		.weight_ns = pile->ns,
		.samples = pile->samples,
		.flags = pile->flags,
		.count = pile->count,
		.frames = pile->frames,
	};

	pile->ns = 0;
	return stack;
}
