// SPDX-License-Identifier: MIT
#include "tests/support/expect.h"
#include "tracer/agent/store.h"

#include <pthread.h>
#include <string.h>

Test(agent_store, what_is_taken_is_zeroed_and_apart)
{
	char *one = store_take(5), *two = store_take(8);

	cr_assert(one != NULL && two != NULL);
	cr_expect(eq(int, two - one, 8));
	cr_expect(eq(int, one[0] | one[7] | two[0] | two[7], 0));
}

Test(agent_store, a_text_is_copied_and_cut)
{
	char text[] = "something";
	const char *whole = store_text(text, 100), *cut = store_text(text, 4);

	text[0] = 'x';
	cr_expect(eq(str, (char *)whole, "something"));
	cr_expect(eq(str, (char *)cut, "some"));
	cr_expect(eq(str, (char *)store_text("", 0), ""));
}

Test(agent_store, it_knows_its_own)
{
	int elsewhere;
	char *ours = store_take(16);

	cr_expect(store_holds(ours, 16));
	cr_expect(not(store_holds(ours + 1, 8)), "crooked");
	cr_expect(not(store_holds(&elsewhere, 4)));
	cr_expect(not(store_holds(NULL, 1)));
	cr_expect(not(store_holds((void *)12345, 1)));
	cr_expect(not(store_holds(ours + 8, STORE_BYTES)));
}

Test(agent_store, nothing_is_ours_before_anything_is_taken)
{
	cr_expect(not(store_holds(NULL, 0)));
	cr_expect(not(store_holds((void *)4096, 8)));
}

Test(agent_store, there_is_an_end)
{
	cr_expect(eq(ptr, store_take(STORE_BYTES + 1), NULL));
	cr_expect(eq(ptr, store_take(SIZE_MAX), NULL));
	size_t taken = 0;
	while (store_take(1 << 20))
		taken++;
	cr_expect(ge(sz, taken, 15));
	while (store_take(8))
		taken++;
	cr_expect(eq(ptr, (void *)store_text("x", 1), NULL));
}

static struct table table;

Test(agent_store, a_table_finds_what_was_put_there)
{
	static const int values[3];

	cr_expect(eq(ptr, (void *)table_get(&table, 5), NULL));
	cr_expect(table_put(&table, 5, &values[0]));
	cr_expect(table_put(&table, 5 + TABLE_SLOTS, &values[1]));
	cr_expect(eq(ptr, (void *)table_get(&table, 5), (void *)&values[0]));
	cr_expect(eq(ptr, (void *)table_get(&table, 5 + TABLE_SLOTS), (void *)&values[1]));
	cr_expect(table_put(&table, 5, &values[2]));
	cr_expect(eq(ptr, (void *)table_get(&table, 5), (void *)&values[2]));
	cr_expect(not(table_put(&table, 0, &values[0])), "0 is no key");
	cr_expect(eq(ptr, (void *)table_get(&table, 0), NULL));
}

Test(agent_store, a_full_table_refuses_and_keeps)
{
	static char places[2 * TABLE_SLOTS];
	uint32_t put = 0, wrong = 0;

	for (uint64_t i = 1; i < 2 * TABLE_SLOTS; i++)
		put += table_put(&table, i, &places[i]);
	for (uint64_t i = 1; i < 2 * TABLE_SLOTS; i++) {
		const void *found = table_get(&table, i);
		wrong += found && found != &places[i];
		put -= found == &places[i];
	}
	cr_expect(eq(u32, wrong, 0));
	cr_expect(eq(u32, put, 0));
}

static void *put_many(void *unused)
{
	static char places[4096];

	for (uint64_t i = 1; i < 4096; i++)
		cr_assert(table_put(&table, i, &places[i]));
	return unused;
}

Test(agent_store, threads_that_put_the_same_agree)
{
	pthread_t threads[4];
	const char *first;

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, put_many, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	first = table_get(&table, 1);
	for (uint64_t i = 1; i < 4096; i++)
		cr_assert(eq(ptr, (void *)table_get(&table, i), (void *)(first + i - 1)));
}
