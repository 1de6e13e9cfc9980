// SPDX-License-Identifier: MIT
#include "tests/support/expect.h"
#include "tracer/agent/memory/memory_table.h"

#include <pthread.h>
#include <stddef.h>

static struct memory_table table;

Test(memory_table, what_is_added_is_there_until_it_is_removed)
{
	for (uint64_t a = 4096; a < 4096 + 2000 * 72; a += 72)
		cr_expect(memory_table_add(&table, a));
	for (uint64_t a = 4096; a < 4096 + 2000 * 72; a += 72) {
		cr_expect(memory_table_may_hold(&table, a));
		cr_expect(not(memory_table_remove(&table, a + 8)));
		cr_expect(memory_table_remove(&table, a));
		cr_expect(not(memory_table_remove(&table, a)));
	}
	for (uint64_t a = 4096; a < 4096 + 2000 * 72; a += 72)
		cr_expect(not(memory_table_may_hold(&table, a)));
}

Test(memory_table, what_is_added_twice_is_there_once)
{
	cr_expect(memory_table_add(&table, 5008));
	cr_expect(memory_table_add(&table, 5008));
	cr_expect(memory_table_remove(&table, 5008));
	cr_expect(not(memory_table_may_hold(&table, 5008)));
}

Test(memory_table, a_full_table_refuses_and_goes_on)
{
	uint64_t added = 0;

	for (uint64_t i = 1; i <= 2 * TABLE_LINES * TABLE_LINE; i++)
		added += memory_table_add(&table, i << 13);
	cr_expect(ge(u64, added, TABLE_LINES * TABLE_LINE / 2));
	cr_expect(le(u64, added, TABLE_LINES * TABLE_LINE));
	for (uint64_t i = 1; i <= 2 * TABLE_LINES * TABLE_LINE; i++)
		added -= memory_table_remove(&table, i << 13);
	cr_expect(eq(u64, added, 0));
	for (size_t i = 0; i < TABLE_COUNTS; i++)
		cr_expect(eq(u8, table.counts[i], 0));
	cr_expect(memory_table_add(&table, 1 << 13));
}

Test(memory_table, a_page_has_a_limit)
{
	uint64_t added = 0;

	for (uint64_t i = 0; i < 256; i++)
		added += memory_table_add(&table, 8192 + i * 16);
	cr_expect(eq(u64, added, TABLE_COUNT_MAX));
	for (uint64_t i = 0; i < 256; i++)
		added -= memory_table_remove(&table, 8192 + i * 16);
	cr_expect(eq(u64, added, 0));
	cr_expect(not(memory_table_may_hold(&table, 8192)));
}

#define ROUNDS 200000

static void *come_and_go(void *argument)
{
	uint64_t base = (uint64_t)(uintptr_t)argument, lost = 0;

	for (uint64_t i = 0; i < ROUNDS; i++) {
		uint64_t address = base + i % 50 * 4096;
		if (memory_table_add(&table, address))
			lost += !memory_table_may_hold(&table, address) ||
			        !memory_table_remove(&table, address);
	}
	return (void *)(uintptr_t)lost;
}

Test(memory_table, threads_do_not_disturb_each_other)
{
	pthread_t threads[4];

	for (uintptr_t i = 0; i < 4; i++)
		cr_assert(pthread_create(&threads[i], NULL, come_and_go,
		                         (void *)(65536 + i * 16)) == 0);
	for (int i = 0; i < 4; i++) {
		void *lost;
		pthread_join(threads[i], &lost);
		cr_expect(eq(ptr, lost, NULL));
	}
	for (size_t i = 0; i < TABLE_COUNTS; i++)
		cr_expect(eq(u8, table.counts[i], 0));
}
