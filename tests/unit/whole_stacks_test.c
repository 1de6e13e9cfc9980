// SPDX-License-Identifier: MIT
#include "sampler/unwind/whole_stacks.h"

#include "tests/support/expect.h"

static struct whole_stacks whole;

static void clear(void)
{
	whole_stacks_fini(&whole);
}

TestSuite(whole_stacks, .fini = clear);

#define DEPTH 5

static const struct frame frames[DEPTH] = { { 1, 1, FRAME_EXACT },
	                                    { 2, 1, FRAME_RETURN },
	                                    { 3, 1, FRAME_RETURN },
	                                    { 4, 2, FRAME_RETURN },
	                                    { 5, 2, FRAME_RETURN } };
static const uint64_t sps[DEPTH] = { 0x1000, 0x1100, 0x1300, 0x9000, 0x9100 };

// Another thread's stack, of which the first COUNT frames are there.
static const struct last_stack *find(size_t count, uint64_t caller_sp)
{
	struct frame cut[DEPTH];
	uint64_t there[DEPTH];

	for (size_t i = 0; i < count; i++) {
		cut[i] = frames[i];
		there[i] = sps[i] + 0x50000;
	}
	cut[0].address = 77; // elsewhere in its function,
	there[0] += 16;      // which has pushed less
	return whole_stacks_find(&whole, cut, there, count, caller_sp);
}

Test(whole_stacks, a_cut_stack_goes_on_as_one_that_began_alike)
{
	cr_expect(find(3, 0) == NULL, "there is none");
	whole_stacks_keep(&whole, frames, sps, DEPTH, 100);
	const struct last_stack *found = find(3, 0);
	cr_assert(found != NULL);
	cr_expect(eq(u64, found->frames[3].address, 4));
	cr_expect(eq(sz, found->count, DEPTH));
	cr_expect(find(3, 0x59000) == found, "its caller begins where this one's does");
	cr_expect(find(3, 0x59008) == NULL, "its last frame has another size");
	cr_expect(find(1, 0) == NULL, "an innermost frame says too little");
	cr_expect(find(DEPTH, 0) == NULL, "there is nothing that goes on");
}

Test(whole_stacks, another_path_or_another_size_is_not_alike)
{
	struct frame other[DEPTH];
	uint64_t larger[DEPTH];

	for (size_t i = 0; i < DEPTH; i++) {
		other[i] = frames[i];
		larger[i] = sps[i] + (i >= 2 ? 16 : 0);
	}
	other[2].address = 30;
	whole_stacks_keep(&whole, other, sps, DEPTH, 100);
	cr_expect(find(3, 0) == NULL, "called from elsewhere");
	whole_stacks_keep(&whole, frames, larger, DEPTH, 100);
	cr_expect(find(3, 0) == NULL, "with a larger frame");
}

Test(whole_stacks, the_latest_ones_are_kept_and_each_once)
{
	struct frame other[DEPTH];

	for (size_t i = 0; i < DEPTH; i++)
		other[i] = frames[i];
	whole_stacks_keep(&whole, frames, sps, DEPTH, 100);
	for (int i = 0; i < 2 * WHOLE_STACKS; i++)
		whole_stacks_keep(&whole, frames, sps, DEPTH, 100);
	cr_expect(eq(u32, whole.next, 1));
	for (uint64_t i = 1; i < WHOLE_STACKS; i++) {
		other[4].address = 100 + i;
		whole_stacks_keep(&whole, other, sps, DEPTH, 100);
	}
	cr_assert(find(3, 0) != NULL);
	cr_expect(eq(u64, find(3, 0)->frames[4].address, 100 + WHOLE_STACKS - 1), "the latest");
	cr_expect(find(4, 0) != NULL);
	for (uint64_t i = 1; i <= WHOLE_STACKS; i++) {
		other[2].address = 1000 + i;
		whole_stacks_keep(&whole, other, sps, DEPTH, 100);
	}
	cr_expect(find(3, 0) == NULL, "they are gone");
}

Test(whole_stacks, a_shallow_one_is_not_kept)
{
	const uint64_t shallow[DEPTH] = { 0x1000, 0x1040, 0x1080, 0x10c0, 0x1100 };

	whole_stacks_keep(&whole, frames, shallow, DEPTH, 100);
	cr_expect(eq(u32, whole.next, 0));
	cr_expect(find(3, 0) == NULL);
}
