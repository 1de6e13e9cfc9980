// SPDX-License-Identifier: MIT
#include "sampler/op/op_site.h"
#include "tests/support/expect.h"

static struct op_sites sites;

static void clear(void)
{
	op_sites_fini(&sites);
}

TestSuite(op_site, .fini = clear);

// hook 1, wrapper 2, owner 3, main 4
static const struct frame frames[] = { { 1, 9, FRAME_EXACT },
	                               { 2, 1, FRAME_RETURN },
	                               { 3, 1, FRAME_RETURN },
	                               { 4, 1, FRAME_RETURN } };
static const uint64_t sps[] = { 0x100, 0x140, 0x180, 0x200 };

static bool is_two(void *context, struct frame frame)
{
	(void)context;
	return frame.address == 2;
}

Test(op_site, without_wrappers_the_caller_is_the_owner)
{
	op_sites_learn(&sites, 77, 0x140, frames, sps, 4, NULL, NULL);
	const struct op_site *site = op_sites_find(&sites, 77);

	cr_assert(site != NULL);
	cr_expect(eq(u64, site->skip, 0));
	cr_expect(eq(u64, site->frame_end, 0x40));
	cr_expect(eq(u64, site->owner.address, 2));
}

Test(op_site, wrappers_are_passed_over)
{
	op_sites_learn(&sites, 77, 0x140, frames, sps, 4, is_two, NULL);
	const struct op_site *site = op_sites_find(&sites, 77);

	cr_assert(site != NULL);
	cr_expect(eq(u64, site->skip, 0x40));
	cr_expect(eq(u64, site->frame_end, 0), "each owner has a frame of its own");
	cr_expect(eq(u32, site->owner.module, 0));
}

Test(op_site, what_does_not_fit_teaches_nothing)
{
	op_sites_learn(&sites, 77, 0x150, frames, sps, 4, NULL, NULL);
	cr_expect(eq(ptr, (void *)op_sites_find(&sites, 77), NULL));
}

Test(op_site, an_owner_whose_caller_was_not_seen_has_no_end)
{
	op_sites_learn(&sites, 77, 0x200, frames, sps, 4, NULL, NULL);
	cr_expect(eq(u64, op_sites_find(&sites, 77)->frame_end, 0));
}

Test(op_site, many_sites_are_found_again)
{
	for (uint64_t i = 0; i < 500; i++)
		op_sites_learn(&sites, i * 7919 % 500, 0x140, frames, sps, 4, NULL, NULL);
	cr_expect(eq(sz, sites.count, 500));
	for (uint64_t i = 0; i < 500; i++)
		cr_expect(eq(u64, op_sites_find(&sites, i)->caller, i));
	op_sites_learn(&sites, 3, 0x180, frames, sps, 4, NULL, NULL);
	cr_expect(eq(sz, sites.count, 500));
	cr_expect(eq(u64, op_sites_find(&sites, 3)->owner.address, 3), "the last word counts");
}
