// SPDX-License-Identifier: MIT
#include "merge/table/series.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

static uint64_t hash_of(uint32_t op, uint32_t shape, uint32_t process)
{
	return hash_pair((uint64_t)op << 32 | shape, process);
}

void series_fini(struct series_table *t)
{
	for (uint32_t i = 0; i < t->count; i++)
		free(t->series[i].items);
	free(t->series);
	hash_fini(&t->index);
	*t = (struct series_table){ 0 };
}

static uint32_t slot_of(const struct series_table *t, uint32_t op, uint32_t shape, uint32_t process)
{
	uint32_t at = hash_start(&t->index, hash_of(op, shape, process));

	for (; t->index.slots[at]; at = hash_next(&t->index, at)) {
		const struct series *known = &t->series[t->index.slots[at] - 1];
		if (known->op == op && known->shape == shape && known->process == process)
			break;
	}
	return at;
}

uint32_t series_find(const struct series_table *t, uint32_t op, uint32_t shape, uint32_t process)
{
	return t->index.slots ? t->index.slots[slot_of(t, op, shape, process)] : 0;
}

uint32_t series_get(struct series_table *t, uint32_t op, uint32_t shape, uint32_t process)
{
	if (!t->index.slots && !hash_init(&t->index, 64))
		return 0;
	if (!hash_make_room(&t->index))
		return 0;
	uint32_t at = slot_of(t, op, shape, process);
	if (t->index.slots[at])
		return t->index.slots[at];
	if (t->count == SERIES_MAX ||
	    !array_reserve(&t->series, &t->capacity, (size_t)t->count + 1))
		return 0;
	t->series[t->count++] =
		(struct series){ .op = op, .shape = shape, .process = process, .block_calls = 1 };
	hash_insert(&t->index, at, hash_of(op, shape, process), t->count);
	return t->count;
}

static void join_blocks(struct series *s)
{
	struct series_item *blocks = s->items + SERIES_EXACT;

	for (size_t i = 0; i < SERIES_BLOCKS / 2; i++) {
		blocks[i] = blocks[2 * i];
		blocks[i].ns += blocks[2 * i + 1].ns;
	}
	s->count = SERIES_EXACT + SERIES_BLOCKS / 2;
	s->block_calls *= 2;
}

bool series_append(struct series *s, const struct series_item *item)
{
	if (!array_reserve(&s->items, &s->capacity, (size_t)s->count + 1))
		return false;
	s->items[s->count++] = *item;
	return true;
}

void series_add(struct series_table *t, uint32_t id, uint64_t begin_ns, uint64_t ns)
{
	struct series *s = id ? &t->series[id - 1] : NULL;

	if (!s) {
		t->lost++;
		return;
	}
	if (s->calls >= SERIES_EXACT && (s->calls - SERIES_EXACT) % s->block_calls) {
		s->items[s->count - 1].ns += ns;
		s->calls++;
		return;
	}
	if (s->count == SERIES_EXACT + SERIES_BLOCKS)
		join_blocks(s);
	if (series_append(s, &(struct series_item){ begin_ns, ns }))
		s->calls++;
	else
		t->lost++;
}

uint64_t series_item_calls(const struct series *s, uint32_t i)
{
	if (i < SERIES_EXACT)
		return 1;
	if (i + 1 < s->count)
		return s->block_calls;
	return s->calls - SERIES_EXACT - (uint64_t)(i - SERIES_EXACT) * s->block_calls;
}

uint64_t series_total_ns(const struct series *s)
{
	uint64_t total = 0;

	for (uint32_t i = 0; i < s->count; i++)
		total += s->items[i].ns;
	return total;
}
