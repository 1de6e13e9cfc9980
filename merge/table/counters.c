// SPDX-License-Identifier: MIT
#include "merge/table/counters.h"

#include "base/array.h"
#include "base/record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void counters_fini(struct counters *c)
{
	free(c->entries);
	hash_fini(&c->index);
	*c = (struct counters){ 0 };
}

static uint32_t slot_of(const struct counters *c, uint32_t op, uint32_t thread)
{
	uint32_t at = hash_start(&c->index, hash_pair(op, thread));

	for (; c->index.slots[at]; at = hash_next(&c->index, at)) {
		const struct counter_entry *known = &c->entries[c->index.slots[at] - 1];
		if (known->op == op && known->thread == thread)
			break;
	}
	return at;
}

struct counter_entry *counters_get(struct counters *c, uint32_t op, uint32_t slot)
{
	if (!c->index.slots && !hash_init(&c->index, 64))
		return NULL;
	if (!hash_make_room(&c->index))
		return NULL;
	uint32_t at = slot_of(c, op, slot);
	if (c->index.slots[at])
		return &c->entries[c->index.slots[at] - 1];
	if (c->count == COUNTERS_MAX ||
	    !array_reserve(&c->entries, &c->capacity, (size_t)c->count + 1))
		return NULL;
	c->entries[c->count++] = (struct counter_entry){ .op = op, .thread = slot };
	hash_insert(&c->index, at, hash_pair(op, slot), c->count);
	return &c->entries[c->count - 1];
}

void counter_sums_add(struct counter_sums *to, const struct counter_sums *from)
{
	to->untold += from->untold;
	if (!from->values)
		return;
	if (!to->values || from->last_ns >= to->last_ns) {
		to->last = from->last;
		to->last_ns = from->last_ns;
	}
	to->min = to->values ? fmin(to->min, from->min) : from->min;
	to->max = to->values ? fmax(to->max, from->max) : from->max;
	to->sum += from->sum;
	to->values += from->values;
}

bool counters_value(const struct op_event *event, double *value)
{
	if (event->detail_count != 1)
		return false;
	if (event->detail == OP_DETAIL_DOUBLE)
		memcpy(value, event->details, sizeof(*value));
	else if (event->detail == OP_DETAIL_SIGNED)
		*value = (double)(int64_t)event->details[0];
	else
		*value = (double)event->details[0];
	*value += 0.0; // a file knows one zero
	return !isnan(*value);
}

void counters_add(struct counters *c, uint32_t slot, const struct op_event *event)
{
	struct counter_entry *entry = counters_get(c, event->op, slot);
	double value;

	if (!entry) {
		c->lost++;
		return;
	}
	if (!counters_value(event, &value)) {
		entry->sums.untold++;
		return;
	}
	const struct counter_sums one = {
		.values = 1,
		.last_ns = event->begin_ns,
		.last = value,
		.min = value,
		.max = value,
		.sum = value,
	};
	counter_sums_add(&entry->sums, &one);
}

void counters_miss(struct counters *c, uint32_t slot, uint32_t op, uint64_t changes)
{
	struct counter_entry *entry = counters_get(c, op, slot);

	if (entry)
		entry->sums.untold += changes;
	else
		c->lost += changes;
}
