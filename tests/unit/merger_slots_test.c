// SPDX-License-Identifier: MIT
#include "merge/join/merger_slots.h"
#include "tests/support/expect.h"

#define MOST 100

static struct merger_slots s;

static void fini(void)
{
	merger_slots_fini(&s);
}

TestSuite(merger_slots, .fini = fini);

Test(merger_slots, those_called_alike_share_theirs_in_their_order)
{
	cr_expect(eq(u32, merger_slots_take(&s, 1, 0, 7, MOST), 1));
	cr_expect(eq(u32, merger_slots_take(&s, 1, 0, 8, MOST), 2));
	cr_expect(eq(u32, merger_slots_take(&s, 1, 0, 7, MOST), 3));
	cr_expect(eq(u32, merger_slots_take(&s, 2, 0, 7, MOST), 1));
	cr_expect(eq(u32, merger_slots_take(&s, 2, 0, 7, MOST), 3));
	cr_expect(eq(u32, merger_slots_take(&s, 2, 0, 7, MOST), 4));
	cr_expect(eq(u32, merger_slots_take(&s, 3, 0, 8, MOST), 2));
}

Test(merger_slots, those_of_another_process_do_not)
{
	cr_expect(eq(u32, merger_slots_take(&s, 1, 1, 7, MOST), 1));
	cr_expect(eq(u32, merger_slots_take(&s, 1, 2, 7, MOST), 2));
	cr_expect(eq(u32, merger_slots_take(&s, 2, 2, 7, MOST), 2));
}

Test(merger_slots, where_there_is_no_room_the_last_one_takes_them)
{
	for (uint32_t i = 0; i < 3; i++)
		cr_expect(eq(u32, merger_slots_take(&s, 1, 0, 7, 3), i + 1));
	cr_expect(eq(u32, merger_slots_take(&s, 1, 0, 7, 3), 3));
	cr_expect(eq(u32, merger_slots_take(&s, 2, 0, 7, 3), 1));
	cr_expect(eq(u32, merger_slots_take(&s, 2, 0, 9, 3), 3));
}

Test(merger_slots, many_names_are_found_again)
{
	for (uint32_t part = 1; part <= 2; part++)
		for (uint32_t name = 1; name <= 5000; name++)
			cr_assert(
				eq(u32, merger_slots_take(&s, part, name % 3, name, 10000), name));
}
