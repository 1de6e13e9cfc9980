// SPDX-License-Identifier: MIT
#include "merge/table/series.h"

#include <criterion/criterion.h>

static struct series_table t;

static void end(void)
{
	series_fini(&t);
}

TestSuite(series, .fini = end);

// CALLS of 10 ns, one each 100 ns, but every tenth, which takes 1,010.
static void fill(uint32_t id, uint64_t calls)
{
	for (uint64_t i = 0; i < calls; i++)
		series_add(&t, id, 100 * i, i % 10 ? 10 : 1010);
}

static void expect_whole(const struct series *s, uint64_t calls)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < s->count; i++) {
		cr_expect_eq(s->items[i].begin_ns, 100 * sum, "item %u", i);
		sum += series_item_calls(s, i);
	}
	cr_expect_eq(sum, calls);
	cr_expect_eq(s->calls, calls);
	cr_expect_eq(series_total_ns(s), calls * 10 + (calls + 9) / 10 * 1000);
	cr_expect_leq(s->count, SERIES_EXACT + SERIES_BLOCKS);
}

Test(series, nothing_is_lost_however_many)
{
	static const uint64_t counts[] = { 1,
		                           SERIES_EXACT,
		                           SERIES_EXACT + 1,
		                           SERIES_EXACT + SERIES_BLOCKS,
		                           SERIES_EXACT + SERIES_BLOCKS + 1,
		                           100000 };

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		uint32_t id = series_get(&t, (uint32_t)i + 1, 0, 1);
		cr_assert(id);
		fill(id, counts[i]);
		expect_whole(&t.series[id - 1], counts[i]);
	}
	cr_expect_eq(t.lost, 0);
}

Test(series, the_first_ones_stay_exact)
{
	uint32_t id = series_get(&t, 1, 0, 1);

	fill(id, 1000000);
	for (uint32_t i = 0; i < SERIES_EXACT; i++)
		cr_expect_eq(t.series[id - 1].items[i].ns, i % 10 ? 10 : 1010);
}

Test(series, each_shape_and_process_has_its_own)
{
	uint32_t one = series_get(&t, 1, 0, 1);

	cr_expect_neq(series_get(&t, 2, 0, 1), one);
	cr_expect_neq(series_get(&t, 1, 7, 1), one);
	cr_expect_neq(series_get(&t, 1, 0, 2), one);
	cr_expect_eq(series_get(&t, 1, 0, 1), one);
}

Test(series, too_many_are_counted)
{
	for (uint32_t i = 1; i <= SERIES_MAX; i++)
		cr_assert(series_get(&t, i, 0, 1));
	cr_expect_eq(series_get(&t, SERIES_MAX + 1, 0, 1), 0);
	series_add(&t, 0, 1, 1);
	cr_expect_eq(t.lost, 1);
}
