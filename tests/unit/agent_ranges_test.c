// SPDX-License-Identifier: MIT
#include "tests/support/expect.h"
#include "tracer/agent/op/ranges.h"

#include <pthread.h>

static struct ranges ranges;
static struct op_thread here = { .generation = 1 };

static void put(uint64_t key, uint32_t name)
{
	ranges_put(&ranges, key, &here, (struct op_range){ key, 1, name });
}

// The name of the range under KEY; 0 if there is none.
static uint32_t take(uint64_t key)
{
	struct op_range range;

	return ranges_take(&ranges, key, &here, &range) ? range.name : 0;
}

Test(agent_ranges, a_range_is_taken_once)
{
	put(1, 11);
	put(2, 12);
	cr_expect(eq(u32, take(2), 12));
	cr_expect(eq(u32, take(1), 11));
	cr_expect(eq(u32, take(1), 0));
	cr_expect(eq(u32, take(3), 0));
}

Test(agent_ranges, some_numbers_are_no_keys)
{
	cr_expect(eq(u32, take(0), 0));
	cr_expect(eq(u32, take(UINT64_MAX), 0));
}

Test(agent_ranges, keys_that_meet_stay_apart)
{
	for (uint64_t i = 0; i < 10; i++)
		put(7 + i * RANGES_SLOTS, (uint32_t)(100 + i));
	for (uint64_t i = 0; i < 10; i++)
		cr_expect(eq(u32, take(7 + i * RANGES_SLOTS), (uint32_t)(100 + i)));
}

Test(agent_ranges, what_is_never_ended_makes_way)
{
	for (uint64_t key = 1; key <= 3 * RANGES_SLOTS; key++)
		put(key, (uint32_t)key);
	cr_expect(eq(u32, take(1), 0));
	for (uint64_t key = 3 * RANGES_SLOTS - 100; key <= 3 * RANGES_SLOTS; key++)
		cr_expect(eq(u32, take(key), (uint32_t)key));
}

Test(agent_ranges, a_parents_ranges_are_not_its_childs)
{
	put(1, 11);
	here.generation++;
	cr_expect(eq(u32, take(1), 0));
}

static void *put_and_take(void *first)
{
	uint64_t key = (uint64_t)(uintptr_t)first;

	for (int i = 0; i < 100000; i++, key += 4) {
		put(key, (uint32_t)key);
		cr_assert(eq(u32, take(key), (uint32_t)key));
	}
	return NULL;
}

Test(agent_ranges, threads_do_not_take_each_others)
{
	pthread_t threads[4];

	for (uintptr_t i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, put_and_take, (void *)(i + 1));
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}
