// SPDX-License-Identifier: MIT
#include "merge/numbers/spread.h"
#include "tests/support/expect.h"

#include <math.h>

static struct spread of(const double *values, size_t count)
{
	struct spread s;

	cr_assert(spread_of(values, count, &s));
	return s;
}

Test(spread, nothing_has_none)
{
	struct spread s = of(NULL, 0);

	cr_expect(eq(sz, s.count, 0));
	cr_expect(eq(dbl, s.median, 0));
}

Test(spread, one_value_is_all_there_is)
{
	const double value = 7;
	struct spread s = of(&value, 1);

	cr_expect(eq(dbl, s.median, 7));
	cr_expect(eq(dbl, s.q1, 7));
	cr_expect(eq(dbl, s.max, 7));
	cr_expect(isnan(s.low) && isnan(s.high));
}

Test(spread, quartiles_lie_between_values)
{
	const double values[] = { 4, 1, 3, 2 };
	struct spread s = of(values, 4);

	cr_expect(ieee_ulp_eq(dbl, s.q1, 1.75, 4));
	cr_expect(ieee_ulp_eq(dbl, s.median, 2.5, 4));
	cr_expect(ieee_ulp_eq(dbl, s.q3, 3.25, 4));
	cr_expect(ieee_ulp_eq(dbl, s.mean, 2.5, 4));
}

// 2 * 2^-6 is 3.1 %: six values are the first whose ends are an interval. The ninth of ten:
// 2 * (1 + 10) / 1024 is 2.1 %, with 45 more of them 10.9 %.
Test(spread, the_medians_interval_is_that_of_order_statistics)
{
	const double values[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };

	cr_expect(isnan(of(values, 5).low));
	cr_expect(eq(dbl, of(values, 6).low, 1));
	cr_expect(eq(dbl, of(values, 6).high, 6));
	cr_expect(eq(dbl, of(values, 10).low, 2));
	cr_expect(eq(dbl, of(values, 10).high, 9));
}

Test(spread, the_interval_of_many_values_is_narrow)
{
	static double values[20000];

	for (size_t i = 0; i < 20000; i++)
		values[i] = (double)(i * 7919 % 20000);
	struct spread s = of(values, 20000);
	// 1.96 * sqrt(n) / 2 is 138.6.
	cr_expect(ge(dbl, s.low, 9859));
	cr_expect(le(dbl, s.low, 9863));
	cr_expect(ge(dbl, s.high, 10136));
	cr_expect(le(dbl, s.high, 10140));
}

Test(spread, equal_values_have_all_figures)
{
	const double values[] = { 5, 5, 5, 5, 5, 5 };
	struct spread s = of(values, 6);

	cr_expect(eq(int, s.figures, 4));
	cr_expect(eq(sz, s.outliers, 0));
}

// Median 100, the middle half of 100 values of 75 to 124: deviation 14.4, error 1.645 * 14.4 / 7.07
// is 3.36: 100 / 3.36 has one figure.
Test(spread, figures_are_those_of_the_standard_error)
{
	double values[100];

	for (int i = 0; i < 100; i++)
		values[i] = 50.5 + i;
	cr_expect(eq(int, of(values, 100).figures, 1));
	for (int i = 0; i < 100; i++)
		values[i] = 1000 + (50.5 + i) / 10;
	cr_expect(eq(int, of(values, 100).figures, 3));
}

Test(spread, an_outlier_is_far_from_all_others)
{
	const double values[] = { 100, 102, 98, 101, 99, 100.5, 400 };
	struct spread s = of(values, 7);

	cr_expect(eq(sz, s.outliers, 1));
	cr_expect(spread_is_far(&s, 400));
	cr_expect(not(spread_is_far(&s, 103)));
}

Test(spread, what_is_all_but_equal_has_no_outliers)
{
	const double values[] = { 100, 100, 100, 100, 100, 100, 100.5 };

	cr_expect(eq(sz, of(values, 7).outliers, 0));
}
