// SPDX-License-Identifier: MIT
#include "tests/support/expect.h"
#include "tracer/agent/torch/torch_blocks.h"

static const void *at(uint64_t address)
{
	return (const void *)(uintptr_t)address;
}

Test(torch_blocks, a_block_has_its_bytes_until_it_is_taken)
{
	torch_blocks_put(at(0x7f0000000040), 12345);
	cr_expect(eq(u64, torch_blocks_take(at(0x7f0000000040)), 12345));
	cr_expect(eq(u64, torch_blocks_take(at(0x7f0000000040)), 0));
}

Test(torch_blocks, neighbours_are_told_apart)
{
	for (uint64_t i = 1; i <= 1000; i++)
		torch_blocks_put(at(0x555500000000 + i * 64), i);
	for (uint64_t i = 1000; i >= 1; i--)
		cr_expect(eq(u64, torch_blocks_take(at(0x555500000000 + i * 64)), i));
}

// They differ in any one bit of the address.
Test(torch_blocks, addresses_far_apart_are_told_apart)
{
	for (unsigned bit = 6; bit < 47; bit++)
		torch_blocks_put(at(UINT64_C(1) << bit), bit);
	for (unsigned bit = 6; bit < 47; bit++)
		cr_expect(eq(u64, torch_blocks_take(at(UINT64_C(1) << bit)), bit));
}

Test(torch_blocks, the_largest_that_can_be)
{
	uint64_t most = (UINT64_C(1) << 39) - 1;

	torch_blocks_put(at(0x7fffffffffc0), most);
	cr_expect(eq(u64, torch_blocks_take(at(0x7fffffffffc0)), most));
	torch_blocks_put(at(0x7fffffffffc0), most + 1);
	cr_expect(eq(u64, torch_blocks_take(at(0x7fffffffffc0)), 0));
}

Test(torch_blocks, what_cannot_be_a_block_is_not_known)
{
	static const uint64_t addresses[] = { 0x7f0000000041, 0x7f0000000048, UINT64_C(1) << 47,
		                              UINT64_C(1) << 63 };

	for (unsigned i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
		torch_blocks_put(at(addresses[i]), 1);
		cr_expect(eq(u64, torch_blocks_take(at(addresses[i])), 0), "%u", i);
	}
	// What it would have been taken for.
	cr_expect(eq(u64, torch_blocks_take(at(0x7f0000000040)), 0));
	cr_expect(eq(u64, torch_blocks_take(at(0)), 0));
}

// Of those that share a bucket there is room for four and four.
Test(torch_blocks, a_full_bucket_forgets_and_goes_on)
{
	unsigned known = 0;

	for (uint64_t i = 0; i < 12; i++)
		torch_blocks_put(at((i << 24 ^ i << 8) + (UINT64_C(1) << 40)), i + 1);
	for (uint64_t i = 0; i < 12; i++) {
		uint64_t bytes = torch_blocks_take(at((i << 24 ^ i << 8) + (UINT64_C(1) << 40)));
		cr_expect(bytes == 0 || bytes == i + 1);
		known += bytes != 0;
	}
	cr_expect(eq(uint, known, 8));
	torch_blocks_put(at(UINT64_C(1) << 40), 7);
	cr_expect(eq(u64, torch_blocks_take(at(UINT64_C(1) << 40)), 7));
}
