// SPDX-License-Identifier: MIT
#include "symbolize/dwarf/cover.h"
#include "tests/support/expect.h"

static const uint64_t addresses[] = { 10, 20, 30, 40, 50 };

static void take_all(struct cover *cover, uint64_t start, uint64_t size, int owner, int owners[5])
{
	for (size_t at; (at = cover_take(cover, start, size)) < 5;)
		owners[at] = owner;
}

Test(cover, the_first_range_that_is_given_keeps_an_address)
{
	struct cover cover;
	int owners[5] = { 0 };

	cr_assert(cover_init(&cover, addresses, 5));
	take_all(&cover, 20, 15, 1, owners);
	take_all(&cover, 0, 45, 2, owners);
	take_all(&cover, 0, UINT64_MAX, 3, owners);
	static const int expected[5] = { 2, 1, 1, 2, 3 };
	for (size_t i = 0; i < 5; i++)
		cr_expect(eq(int, owners[i], expected[i]), "address %zu", i);
	cover_fini(&cover);
}

Test(cover, the_end_of_a_range_does_not_belong_to_it)
{
	struct cover cover;

	cr_assert(cover_init(&cover, addresses, 5));
	cr_expect(eq(sz, cover_take(&cover, 0, 10), 5));
	cr_expect(eq(sz, cover_take(&cover, 10, 0), 5));
	cr_expect(eq(sz, cover_take(&cover, 10, 1), 0));
	cr_expect(eq(sz, cover_take(&cover, 51, 100), 5));
	cover_fini(&cover);
}

Test(cover, a_range_that_wraps_around_the_address_space_ends_at_its_end)
{
	struct cover cover;
	int owners[5] = { 0 };

	cr_assert(cover_init(&cover, addresses, 5));
	take_all(&cover, 40, UINT64_MAX, 1, owners);
	cr_expect(eq(int, owners[2], 0));
	cr_expect(eq(int, owners[3], 1));
	cr_expect(eq(int, owners[4], 1));
	cover_fini(&cover);
}
