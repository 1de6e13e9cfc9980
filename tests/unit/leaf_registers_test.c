// SPDX-License-Identifier: MIT
#include "merge/profile/leaf_registers.h"

#include "base/record.h"
#include "tests/support/expect.h"

static void add(struct leaf_registers *l, uint32_t module, uint64_t address, uint64_t rdx)
{
	const uint64_t regs[DWARF_REGISTERS] = { [DWARF_RDX] = rdx, [DWARF_RSI] = 6 };

	leaf_registers_add(l, module, address, (struct leaf_thread){ 1, 1 }, regs, NULL);
}

Test(leaf_registers, they_are_kept_by_address_as_instructions_number_them)
{
	struct leaf_registers l = { 0 };

	cr_expect_null(leaf_registers_find(&l, 1, 0x10));
	add(&l, 1, 0x10, 2);
	add(&l, 2, 0x10, 3);
	const uint64_t *regs = leaf_registers_find(&l, 1, 0x10);
	cr_assert_not_null(regs);
	cr_expect(eq(u64, regs[2], 2)); // rdx
	cr_expect(eq(u64, regs[6], 6)); // rsi
	cr_expect(eq(u64, leaf_registers_find(&l, 2, 0x10)[2], 3));
	cr_expect_null(leaf_registers_find(&l, 1, 0x11));
	leaf_registers_fini(&l);
}

// Of many addresses and samples: each has one of its own, and memory has a limit.
Test(leaf_registers, the_sample_that_stays_is_one_of_its_address)
{
	struct leaf_registers l = { 0 };
	unsigned first = 0, known = 0;

	for (uint64_t round = 0; round < 10; round++)
		for (uint64_t at = 0; at < 10000; at++)
			add(&l, 1, at, at * 100 + round);
	for (uint64_t at = 0; at < 10000; at++) {
		const uint64_t *regs = leaf_registers_find(&l, 1, at);
		if (!regs)
			continue;
		cr_assert(eq(u64, regs[2] / 100, at));
		known++;
		first += regs[2] % 100 == 0;
	}
	cr_expect(known >= 4096 && known < 10000, "%u", known);
	cr_expect(first > known / 20 && first < known / 5, "%u of %u", first, known);
	leaf_registers_fini(&l);
}

// What two threads hold at one address shows whether they use the same memory; what two processes
// do, does not.
Test(leaf_registers, of_another_thread_of_the_process_there_is_a_sample_too)
{
	struct leaf_registers l = { 0 };
	const struct leaf_thread threads[] = { { 1, 1 }, { 1, 1 }, { 2, 3 }, { 1, 2 } };

	for (uint64_t i = 0; i < 4; i++) {
		const uint64_t regs[DWARF_REGISTERS] = { [DWARF_RDX] = 10 + threads[i].thread };
		cr_expect_null(leaf_registers_other(&l, 1, 0x10));
		leaf_registers_add(&l, 1, 0x10, threads[i], regs, NULL);
	}
	cr_expect(eq(u64, leaf_registers_find(&l, 1, 0x10)[2], 11));
	cr_assert_not_null(leaf_registers_other(&l, 1, 0x10));
	cr_expect(eq(u64, leaf_registers_other(&l, 1, 0x10)[2], 12));
	leaf_registers_fini(&l);
}
