// SPDX-License-Identifier: MIT
#include "sampler/tracker/correlations.h"
#include "tests/support/expect.h"

static struct correlations calls;

static void begin(void)
{
	cr_assert(correlations_init(&calls));
}

static void end(void)
{
	correlations_fini(&calls);
}

TestSuite(correlations, .init = begin, .fini = end);

static void put(uint32_t process, uint32_t correlation, uint32_t site)
{
	correlations_put(&calls, &(struct correlated_call){ .process = process,
	                                                    .correlation = correlation,
	                                                    .site = site });
}

// 0: unknown.
static uint32_t site_of(uint32_t process, uint32_t correlation)
{
	const struct correlated_call *call = correlations_find(&calls, process, correlation);

	return call ? call->site : 0;
}

Test(correlations, processes_have_numbers_of_their_own)
{
	put(1, 17, 5);
	put(2, 17, 6);
	cr_expect(eq(u32, site_of(1, 17), 5));
	cr_expect(eq(u32, site_of(2, 17), 6));
	cr_expect(eq(u32, site_of(1, 18), 0));
	cr_expect(eq(u32, site_of(3, 17), 0));
}

Test(correlations, a_number_that_comes_again_is_of_the_new_call)
{
	put(1, 17, 5);
	put(1, 17, 9);
	cr_expect(eq(u32, site_of(1, 17), 9));
}

Test(correlations, the_newest_are_kept_and_the_oldest_forgotten)
{
	for (uint32_t i = 1; i <= 3 * CORRELATIONS_MAX; i++) {
		put(1, i, i);
		if (i > CORRELATIONS_MAX)
			cr_assert(eq(u32, site_of(1, i - CORRELATIONS_MAX), i - CORRELATIONS_MAX));
	}
	cr_expect(eq(u32, site_of(1, 1), 0));
	cr_expect(eq(u32, site_of(1, CORRELATIONS_MAX), 0));
	cr_expect(calls.young.count + calls.old.count <= 2 * CORRELATIONS_MAX);
}
