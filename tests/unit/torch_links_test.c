// SPDX-License-Identifier: MIT
#include "tests/support/expect.h"
#include "tracer/agent/torch/torch_links.h"

Test(torch_links, the_last_op_with_a_number_is_the_one_that_was_recorded)
{
	torch_links_put(1, 40, 7);
	torch_links_put(1, 40, 8);
	torch_links_put(1, 41, 9);
	cr_expect(eq(u32, torch_links_get(1, 40), 8));
	cr_expect(eq(u32, torch_links_get(1, 41), 9));
	cr_expect(eq(u32, torch_links_get(1, 42), 0));
}

Test(torch_links, each_thread_has_numbers_of_its_own)
{
	for (uint32_t thread = 1; thread <= 64; thread++)
		for (int64_t i = 0; i < 100; i++)
			torch_links_put(thread, i, thread * 1000 + (uint32_t)i);
	for (uint32_t thread = 1; thread <= 64; thread++)
		for (int64_t i = 0; i < 100; i++)
			cr_assert(eq(u32, torch_links_get(thread, i), thread * 1000 + (uint32_t)i));
	cr_expect(eq(u32, torch_links_get(65, 1), 0));
}

Test(torch_links, old_ones_are_forgotten_not_taken_for_new_ones)
{
	for (int64_t i = 0; i < 3 * (int64_t)TORCH_LINKS; i++)
		torch_links_put(3, i, 5);
	cr_expect(eq(u32, torch_links_get(3, 17), 0));
	cr_expect(eq(u32, torch_links_get(3, 3 * (int64_t)TORCH_LINKS - 1), 5));
}
