// SPDX-License-Identifier: MIT
#include "merge/gpu/gpu_touches.h"
#include "tests/support/expect.h"

#include <stdio.h>
#include <string.h>

#define MS      UINT64_C(1000000)
#define MB      (UINT64_C(1) << 20)
#define SOME_NS (1000 * MS)
#define ADDRESS UINT64_C(0x700000000000)

static struct gpu_touches faults;
static char story[256]; // bytes of the moves that were found

static void begin(void)
{
	faults = (struct gpu_touches){ 0 };
	story[0] = '\0';
}

TestSuite(gpu_touches, .init = begin);

static void hear(void *context, const struct gpu_move *move)
{
	size_t used = strlen(story);

	cr_assert(eq(ptr, context, &faults));
	snprintf(story + used, sizeof(story) - used, "%lu ", (unsigned long)move->bytes);
}

static const char *fault(uint64_t time_ns, uint64_t address, uint32_t location)
{
	const struct gpu_touch told = { time_ns, address, 1, location };

	story[0] = '\0';
	gpu_touches_add(&faults, &told, &faults, hear);
	return story;
}

static uint32_t move_of(uint32_t process, uint64_t begin_ns, uint64_t address, uint64_t bytes)
{
	const struct gpu_move move = { begin_ns, address, bytes, MS, process, 1, 2 };

	return gpu_touches_move(&faults, &move);
}

static uint32_t move(uint64_t begin_ns, uint64_t address, uint64_t bytes)
{
	return move_of(1, begin_ns, address, bytes);
}

Test(gpu_touches, what_holds_the_address_was_moved_for_it)
{
	fault(SOME_NS, ADDRESS + 4096, 12);
	cr_expect(eq(u32, move(SOME_NS + 1000, ADDRESS, 16 * MB), 12));
}

Test(gpu_touches, so_was_what_lies_in_the_same_block_of_the_driver)
{
	fault(SOME_NS, ADDRESS + 4096, 12);
	cr_expect(eq(u32, move(SOME_NS, ADDRESS + MB, 65536), 12));
	cr_expect(eq(u32, move(SOME_NS, ADDRESS + 2 * MB, 65536), 0));
	cr_expect(eq(u32, move(SOME_NS, ADDRESS - 65536, 65536), 0));
}

Test(gpu_touches, a_move_may_be_told_first)
{
	cr_expect(eq(u32, move(SOME_NS + 1000, ADDRESS, 65536), 0));
	cr_expect(eq(u32, move(SOME_NS + 1000, ADDRESS + 8 * MB, 131072), 0));
	cr_expect(eq(str, (char *)fault(SOME_NS, ADDRESS, 12), "65536 "));
	// And is found once.
	cr_expect(eq(str, (char *)fault(SOME_NS, ADDRESS, 13), ""));
}

Test(gpu_touches, the_latest_fault_before_it_counts)
{
	fault(SOME_NS, ADDRESS, 12);
	fault(SOME_NS + 20 * MS, ADDRESS, 13);
	cr_expect(eq(u32, move(SOME_NS + 10 * MS, ADDRESS, 65536), 12));
	cr_expect(eq(u32, move(SOME_NS + 21 * MS, ADDRESS, 65536), 13));
}

Test(gpu_touches, what_is_long_ago_or_of_another_process_does_not)
{
	fault(SOME_NS, ADDRESS, 12);
	cr_expect(eq(u32, move(SOME_NS + 900 * MS, ADDRESS, 65536), 0));
	cr_expect(eq(u32, move(SOME_NS - 900 * MS, ADDRESS, 65536), 0));
	cr_expect(eq(u32, move_of(2, SOME_NS, ADDRESS, 65536), 0));
}

Test(gpu_touches, more_than_are_kept_push_out_the_oldest)
{
	for (uint32_t i = 0; i < GPU_TOUCHES_KEPT + 1; i++)
		fault(SOME_NS, ADDRESS + i * 2 * MB, i + 1);
	cr_expect(eq(u32, move(SOME_NS, ADDRESS, 65536), 0));
	cr_expect(eq(u32, move(SOME_NS, ADDRESS + 2 * MB, 65536), 2));
	begin();
	for (uint32_t i = 0; i < GPU_MOVES_KEPT + 1; i++)
		move(SOME_NS, ADDRESS + i * 2 * MB, 65536);
	cr_expect(eq(str, (char *)fault(SOME_NS, ADDRESS, 1), ""));
	cr_expect(eq(str, (char *)fault(SOME_NS, ADDRESS + 2 * MB, 1), "65536 "));
}

Test(gpu_touches, locations_get_other_numbers)
{
	static const uint32_t map[] = { 0, 7 };

	fault(SOME_NS, ADDRESS, 2);
	gpu_touches_move_locations(&faults, map);
	cr_expect(eq(u32, move(SOME_NS, ADDRESS, 65536), 7));
}
