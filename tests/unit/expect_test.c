// SPDX-License-Identifier: MIT
// The assertions of all other tests, where they hold; expect_fails.c has those that do not.
#include "tests/support/expect.h"

#include <math.h>

Test(expect, compares_in_the_type_that_is_named)
{
	uint32_t large = 0x103;

	cr_expect(eq(u8, large, 3));
	cr_expect(eq(i32, -1, -1));
	cr_expect(gt(u32, (uint32_t)-1, 1));
	cr_expect(lt(i64, INT64_MIN, INT64_MAX));
	cr_expect(gt(u64, UINT64_MAX, INT64_MAX));
	cr_expect(le(int, 3, 3));
	cr_expect(ge(sz, 3, 3));
	cr_expect(not(gt(sz, 3, 3))); // Criterion 2.4.1 says otherwise
	cr_expect(not(lt(sz, 3, 3)));
	cr_expect(not(eq(int, 1, 2)));
	cr_expect(ne(ptr, "", NULL));
}

Test(expect, texts_are_compared_by_what_they_say)
{
	char text[] = "text";

	cr_expect(eq(str, text, "text"));
	cr_expect(ne(str, text, "texts"));
	cr_expect(lt(str, "a", "b"));
	cr_expect(eq(str, NULL, NULL));
	cr_expect(ne(str, NULL, ""));
	cr_expect(ne(str, "", NULL));
}

Test(expect, nothing_is_said_of_what_is_not_a_number)
{
	cr_expect(not(eq(dbl, NAN, NAN)));
	cr_expect(ne(dbl, NAN, 0));
	cr_expect(not(lt(dbl, NAN, 0)));
	cr_expect(not(ge(dbl, NAN, 0)));
	cr_expect(not(epsilon_eq(dbl, NAN, 0, 1)));
	cr_expect(not(ieee_ulp_eq(dbl, NAN, NAN, 4)));
}

Test(expect, numbers_may_be_near)
{
	cr_expect(epsilon_eq(dbl, 1.05, 1, 0.1));
	cr_expect(not(epsilon_eq(dbl, 1.15, 1, 0.1)));
	cr_expect(ieee_ulp_eq(dbl, 0.1 + 0.2, 0.3, 4));
	cr_expect(not(ieee_ulp_eq(dbl, 0.3000001, 0.3, 4)));
	cr_expect(ieee_ulp_eq(dbl, -0.0, 0.0, 0));
	cr_expect(ieee_ulp_eq(flt, 0.1f + 0.2f, 0.3f, 4));
	cr_expect(not(ieee_ulp_eq(flt, 0.1f, 0.2f, 4)));
}
