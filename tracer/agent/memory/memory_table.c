// SPDX-License-Identifier: MIT
#include "tracer/agent/memory/memory_table.h"

#include "base/hash.h"

static uint64_t *line_of(struct memory_table *t, uint64_t address)
{
	return t->lines[hash_mix(address) % TABLE_LINES];
}

static uint8_t *count_of(struct memory_table *t, uint64_t address)
{
	return &t->counts[(address >> TABLE_PAGE_SHIFT) % TABLE_COUNTS];
}

static uint64_t *find(uint64_t *line, uint64_t wanted)
{
	for (int i = 0; i < TABLE_LINE; i++)
		if (__atomic_load_n(&line[i], __ATOMIC_RELAXED) == wanted)
			return &line[i];
	return NULL;
}

static bool replace(uint64_t *slot, uint64_t from, uint64_t to)
{
	return __atomic_compare_exchange_n(slot, &from, to, false, __ATOMIC_RELAXED,
	                                   __ATOMIC_RELAXED);
}

// Counts first: whoever can know the address is to find the count.
static bool count(uint8_t *at)
{
	if (__atomic_add_fetch(at, 1, __ATOMIC_RELAXED) <= TABLE_COUNT_MAX)
		return true;
	__atomic_fetch_sub(at, 1, __ATOMIC_RELAXED);
	return false;
}

// Before the address's owner knows of it, so nobody reads it meanwhile.
static void describe(struct memory_table *t, const uint64_t *slot, struct memory_block block)
{
	(&t->calls[0][0])[slot - &t->lines[0][0]] = block.told ? block.calls : -block.calls;
}

bool memory_table_add(struct memory_table *t, uint64_t address, struct memory_block block)
{
	uint64_t *line = line_of(t, address), *slot = find(line, address);
	uint8_t *counted = count_of(t, address);

	if (slot) { // its free was not seen
		describe(t, slot, block);
		return true;
	}
	if (!count(counted))
		return false;
	while ((slot = find(line, 0))) {
		if (!replace(slot, 0, address))
			continue;
		describe(t, slot, block);
		__atomic_fetch_add(&t->used, 1, __ATOMIC_RELAXED);
		return true;
	}
	__atomic_fetch_sub(counted, 1, __ATOMIC_RELAXED);
	return false;
}

struct memory_block memory_table_remove(struct memory_table *t, uint64_t address)
{
	uint64_t *slot = find(line_of(t, address), address);
	struct memory_block none = { 0 };

	if (!slot)
		return none;
	float calls = (&t->calls[0][0])[slot - &t->lines[0][0]];
	if (!replace(slot, address, 0))
		return none;
	__atomic_fetch_sub(count_of(t, address), 1, __ATOMIC_RELAXED);
	__atomic_fetch_sub(&t->used, 1, __ATOMIC_RELAXED);
	return (struct memory_block){ calls < 0 ? -calls : calls, calls > 0 };
}
