// SPDX-License-Identifier: MIT
#include "sampler/task/wait_piles.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

void wait_piles_fini(struct wait_piles *p)
{
	for (int i = 0; p->piles && i < WAIT_PILES_MAX; i++)
		free(p->piles[i].frames);
	for (int i = 0; p->sightings && i < WAIT_PILES_MAX; i++)
		free(p->sightings[i].frames);
	free(p->piles);
	free(p->sightings);
	*p = (struct wait_piles){ 0 };
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

// The sighting of PLACE, or the one that is to make room for it. NULL: no memory.
static struct sighting *find_sighting(struct wait_piles *p, uint64_t place)
{
	struct sighting *oldest;

	if (!p->sightings && !(p->sightings = calloc(WAIT_PILES_MAX, sizeof(*p->sightings))))
		return NULL;
	oldest = &p->sightings[0];
	for (struct sighting *s = p->sightings; s < p->sightings + WAIT_PILES_MAX; s++) {
		if (s->place == place)
			return s;
		if (s->time_ns < oldest->time_ns)
			oldest = s;
	}
	return oldest;
}

// The next frame of Python's from I on; COUNT: there is none.
static uint32_t next_python(const struct frame *frames, uint32_t count, uint32_t i)
{
	while (i < count && frames[i].kind != FRAME_PYTHON)
		i++;
	return i;
}

// The native frames are the same at one place.
static bool agrees(const struct sighting *s, const struct frame *frames, uint32_t count)
{
	uint32_t i = next_python(s->frames, s->count, 0), j = next_python(frames, count, 0);

	while (i < s->count && j < count && s->frames[i].address == frames[j].address) {
		i = next_python(s->frames, s->count, i + 1);
		j = next_python(frames, count, j + 1);
	}
	return i == s->count && j == count;
}

static void begin_sighting(struct sighting *s, uint64_t place, uint64_t time_ns,
                           const struct frame *frames, uint32_t count)
{
	s->place = 0;
	if (!array_reserve(&s->frames, &s->capacity, count))
		return;
	memcpy(s->frames, frames, count * sizeof(*frames));
	s->count = count;
	s->place = place;
	s->time_ns = time_ns;
	s->run = 1;
}

uint64_t wait_piles_see(struct wait_piles *p, uint64_t place, uint64_t time_ns,
                        const struct frame *frames, uint32_t count)
{
	struct sighting *s = find_sighting(p, place);

	if (!s)
		return time_ns;
	if (s->place != place || !agrees(s, frames, count)) {
		uint64_t mixed_ns = s->place == place ? time_ns : 0;
		begin_sighting(s, place, time_ns, frames, count);
		s->mixed_ns = mixed_ns;
		return time_ns;
	}
	uint64_t before_ns = s->time_ns;
	bool mixed = s->mixed_ns && time_ns < s->mixed_ns + SIGHTINGS_MIXED_NS;
	s->run = time_ns - before_ns <= SIGHTINGS_APART_NS ? s->run + 1 : 1;
	s->time_ns = time_ns;
	return s->run >= SIGHTINGS_MIN && !mixed ? before_ns : time_ns;
}

void wait_piles_forget(struct wait_piles *p)
{
	for (int i = 0; p->sightings && i < WAIT_PILES_MAX; i++)
		p->sightings[i].place = 0;
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
