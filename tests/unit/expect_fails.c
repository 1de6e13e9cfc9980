// SPDX-License-Identifier: MIT
// Each of these tests fails: ctest's expect_fails wants all of them to.
#include "tests/support/expect.h"

Test(expect_fails, a_number_is_not_what_is_expected)
{
	cr_expect(eq(int, 7, 8));
}

Test(expect_fails, a_text_is_not_what_is_expected)
{
	cr_assert(eq(str, "this", "that"), "row %d", 3);
}

Test(expect_fails, a_condition_does_not_hold)
{
	cr_expect(2 + 2 == 5);
}

Test(expect_fails, what_follows_a_failed_expectation_is_looked_at)
{
	cr_expect(eq(u64, 1, 2));
	cr_expect(eq(u64, 3, 4), "the second one");
}

Test(expect_fails, nothing_follows_a_failed_assertion)
{
	cr_assert(ne(int, 5, 5));
	cr_expect(false, "after the end");
}

Test(expect_fails, at_once)
{
	cr_fatal("no row %s", "main");
}
