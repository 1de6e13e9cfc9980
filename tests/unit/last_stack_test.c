// SPDX-License-Identifier: MIT
#include "sampler/unwind/last_stack.h"

#include "base/clock.h"
#include "tests/support/expect.h"

static struct last_stack last;

static void clear(void)
{
	last_stack_fini(&last);
}

TestSuite(last_stack, .fini = clear);

static const struct frame frames[] = { { 1, 1, FRAME_EXACT },
	                               { 2, 1, FRAME_RETURN },
	                               { 3, 1, FRAME_RETURN } };
static const uint64_t deep[] = { 0x1000, 0x3000, 0x9000 };

Test(last_stack, a_frame_is_found_by_its_stack_pointer)
{
	last_stack_keep(&last, frames, deep, 3, 100);
	cr_expect(eq(sz, last_stack_find(&last, 0x3000, 1, 200), 1));
	cr_expect(eq(sz, last_stack_find(&last, 0x9000, 1, 200), 2));
	cr_expect(eq(sz, last_stack_find(&last, 0x9008, 1, 200), 3), "nothing is there");
	cr_expect(eq(sz, last_stack_find(&last, 0x1000, 1, 200), 3),
	          "the innermost has called nothing");
	cr_expect(eq(sz, last_stack_find(&last, 0, 1, 200), 3));
}

Test(last_stack, an_old_stack_tells_nothing)
{
	last_stack_keep(&last, frames, deep, 3, 100);
	cr_expect(eq(sz, last_stack_find(&last, 0x3000, 1, 2 * NS_PER_SEC), 3));
}

Test(last_stack, shallow_stacks_are_not_kept)
{
	const uint64_t shallow[] = { 0x1000, 0x1100, 0x1200 };

	last_stack_keep(&last, frames, deep, 3, 100);
	last_stack_keep(&last, frames, shallow, 3, 200);
	cr_expect(eq(sz, last_stack_find(&last, 0x3000, 1, 300), 1), "the deep one stays");
}
