// SPDX-License-Identifier: MIT
#include "merge/numbers/histogram.h"
#include "tests/support/expect.h"

#include <math.h>
#include <stdlib.h>

static struct histogram h;

static void clear(void)
{
	histogram_fini(&h);
}

TestSuite(histogram, .fini = clear);

Test(histogram, nothing_has_no_median)
{
	cr_expect(eq(u64, histogram_quantile(&h, 0.5), 0));
}

Test(histogram, every_duration_is_kept_to_less_than_a_percent)
{
	for (double ns = 1; ns < 1e19; ns *= 1.37) {
		uint64_t value = (uint64_t)ns;
		histogram_fini(&h);
		cr_assert(histogram_add(&h, value, 1));
		double off = fabs((double)histogram_quantile(&h, 0.5) - (double)value);
		cr_expect(le(dbl, off, (double)value / 128), "%lu", value);
	}
	histogram_fini(&h);
	cr_expect(histogram_add(&h, UINT64_MAX, 1));
	cr_expect(histogram_add(&h, 0, 1));
	cr_expect(eq(u64, histogram_quantile(&h, 0), 0));
}

Test(histogram, small_durations_are_exact)
{
	for (uint64_t ns = 0; ns < 256; ns++) {
		histogram_fini(&h);
		histogram_add(&h, ns, 1);
		cr_expect(eq(u64, histogram_quantile(&h, 0.5), ns));
	}
}

Test(histogram, quartiles_are_those_of_the_sorted_values)
{
	// 1 … 1000 in an order of its own: 7 is prime to 1000.
	for (uint64_t i = 0; i < 1000; i++)
		histogram_add(&h, 1000 * (1 + i * 7 % 1000), 1);
	double expected[] = { 250e3, 500e3, 750e3 };

	for (int i = 0; i < 3; i++) {
		double told = (double)histogram_quantile(&h, 0.25 * (i + 1));
		cr_expect(lt(dbl, fabs(told - expected[i]), expected[i] / 100));
	}
}

Test(histogram, many_equal_durations_take_one_bucket)
{
	for (int i = 0; i < 100000; i++)
		histogram_add(&h, 12345, 1);
	cr_expect(eq(u32, h.count, 1));
	cr_expect(eq(u32, h.buckets[0].count, 100000));
}

Test(histogram, two_become_one)
{
	struct histogram other = { 0 };

	for (uint64_t i = 0; i < 100; i++) {
		histogram_add(&h, 1000, 1);
		histogram_add(&other, i < 50 ? 1000 : 100, 1);
	}
	cr_expect(histogram_merge(&h, &other));
	histogram_fini(&other);
	cr_expect(eq(u32, h.count, 2));
	cr_expect(eq(u64, histogram_quantile(&h, 0.1), 100));
	cr_expect(gt(u64, histogram_quantile(&h, 0.3), 990));
}

Test(histogram, a_quantile_is_no_longer_than_the_longest_call)
{
	histogram_add(&h, 403243757, 1);
	cr_expect(gt(u64, histogram_quantile(&h, 0.5), 403243757), "the middle of its bucket");
	cr_expect(eq(u64, histogram_quantile_within(&h, 0.5, 403243757, 403243757), 403243757));
	cr_expect(eq(u64, histogram_quantile_within(&h, 0.5, 405000000, 406000000), 405000000));
	cr_expect(eq(u64, histogram_quantile_within(&h, 0.5, 0, 0), histogram_quantile(&h, 0.5)),
	          "neither is known");
}

Test(histogram, a_bucket_that_cannot_be_is_refused)
{
	cr_expect(not(histogram_add_bucket(&h, 1u << 20, 1)));
	cr_expect(histogram_add_bucket(&h, 5, UINT32_MAX));
	cr_expect(histogram_add_bucket(&h, 5, 3));
	cr_expect(eq(u32, h.buckets[0].count, UINT32_MAX), "it stays at its maximum");
}
