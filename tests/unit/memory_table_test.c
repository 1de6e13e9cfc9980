// SPDX-License-Identifier: MIT
#include "tests/support/expect.h"
#include "tracer/agent/memory/memory_table.h"

#include <pthread.h>
#include <stddef.h>

static struct memory_table table;

static bool add(uint64_t address)
{
	return memory_table_add(&table, address, (struct memory_block){ 1, true });
}

static bool removes(uint64_t address)
{
	return memory_table_remove(&table, address).calls > 0;
}

Test(memory_table, what_a_block_stands_for_comes_back)
{
	cr_assert(memory_table_add(&table, 80, (struct memory_block){ 7.5f, true }));
	cr_assert(memory_table_add(&table, 96, (struct memory_block){ 2, false }));
	cr_assert(memory_table_add(&table, 112, (struct memory_block){ 3, true }));
	cr_assert(memory_table_add(&table, 112, (struct memory_block){ 4, false }));
	cr_expect(eq(u32, table.used, 3));
	struct memory_block told = memory_table_remove(&table, 80);
	struct memory_block kept = memory_table_remove(&table, 96);
	struct memory_block again = memory_table_remove(&table, 112);
	cr_expect(told.calls == 7.5f && told.told);
	cr_expect(kept.calls == 2 && !kept.told);
	cr_expect(again.calls == 4 && !again.told);
	cr_expect(memory_table_remove(&table, 80).calls == 0);
	cr_expect(eq(u32, table.used, 0));
}

Test(memory_table, what_is_added_is_there_until_it_is_removed)
{
	for (uint64_t a = 4096; a < 4096 + 2000 * 72; a += 72)
		cr_expect(add(a));
	for (uint64_t a = 4096; a < 4096 + 2000 * 72; a += 72) {
		cr_expect(memory_table_may_hold(&table, a));
		cr_expect(not(removes(a + 8)));
		cr_expect(removes(a));
		cr_expect(not(removes(a)));
	}
	for (uint64_t a = 4096; a < 4096 + 2000 * 72; a += 72)
		cr_expect(not(memory_table_may_hold(&table, a)));
}

Test(memory_table, what_is_added_twice_is_there_once)
{
	cr_expect(add(5008));
	cr_expect(add(5008));
	cr_expect(removes(5008));
	cr_expect(not(memory_table_may_hold(&table, 5008)));
}

Test(memory_table, a_full_table_refuses_and_goes_on)
{
	uint64_t added = 0;

	for (uint64_t i = 1; i <= 2 * TABLE_LINES * TABLE_LINE; i++)
		added += add(i << 13);
	cr_expect(ge(u64, added, TABLE_LINES * TABLE_LINE / 2));
	cr_expect(le(u64, added, TABLE_LINES * TABLE_LINE));
	for (uint64_t i = 1; i <= 2 * TABLE_LINES * TABLE_LINE; i++)
		added -= removes(i << 13);
	cr_expect(eq(u64, added, 0));
	for (size_t i = 0; i < TABLE_COUNTS; i++)
		cr_expect(eq(u8, table.counts[i], 0));
	cr_expect(add(1 << 13));
}

Test(memory_table, a_page_has_a_limit)
{
	uint64_t added = 0;

	for (uint64_t i = 0; i < 256; i++)
		added += add(8192 + i * 16);
	cr_expect(eq(u64, added, TABLE_COUNT_MAX));
	for (uint64_t i = 0; i < 256; i++)
		added -= removes(8192 + i * 16);
	cr_expect(eq(u64, added, 0));
	cr_expect(not(memory_table_may_hold(&table, 8192)));
}

#define ROUNDS 200000

static void *come_and_go(void *argument)
{
	uint64_t base = (uint64_t)(uintptr_t)argument, lost = 0;

	for (uint64_t i = 0; i < ROUNDS; i++) {
		uint64_t address = base + i % 50 * 4096;
		if (add(address))
			lost += !memory_table_may_hold(&table, address) || !removes(address);
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
