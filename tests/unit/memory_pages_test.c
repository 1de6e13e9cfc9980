// SPDX-License-Identifier: MIT
#include "tests/support/expect.h"
#include "tracer/agent/memory/memory_pages.h"

static struct memory_pages pages;

static const void *at(uint64_t address)
{
	return (const void *)(uintptr_t)address;
}

Test(memory_pages, nothing_is_known_at_first)
{
	cr_expect(eq(u64, memory_pages_find(&pages, at(0)), 0));
	cr_expect(eq(u64, memory_pages_find(&pages, at(0x7f0000001010)), 0));
}

Test(memory_pages, what_is_noted_holds_for_the_page)
{
	memory_pages_note(&pages, at(0x7f0000001010), 48);
	cr_expect(eq(u64, memory_pages_find(&pages, at(0x7f0000001000)), 48));
	cr_expect(eq(u64, memory_pages_find(&pages, at(0x7f0000001fff)), 48));
	cr_expect(eq(u64, memory_pages_find(&pages, at(0x7f0000002000)), 0));
	cr_expect(eq(u64, memory_pages_find(&pages, at(0x7f0000000ff0)), 0));
	memory_pages_note(&pages, at(0x7f0000001020), 64);
	cr_expect(eq(u64, memory_pages_find(&pages, at(0x7f0000001010)), 64));
}

Test(memory_pages, a_page_in_the_same_place_is_not_taken_for_it)
{
	uint64_t other = 0x1000 + ((uint64_t)MEMORY_PAGES_COUNT << MEMORY_PAGES_SHIFT);

	memory_pages_note(&pages, at(0x1000), 48);
	cr_expect(eq(u64, memory_pages_find(&pages, at(other)), 0));
	memory_pages_note(&pages, at(other), 80);
	cr_expect(eq(u64, memory_pages_find(&pages, at(other)), 80));
	cr_expect(eq(u64, memory_pages_find(&pages, at(0x1000)), 0));
}

Test(memory_pages, a_block_that_is_too_large_takes_the_page_from_small_ones)
{
	memory_pages_note(&pages, at(0x5000), 48);
	memory_pages_note(&pages, at(0x5000), 65536);
	cr_expect(eq(u64, memory_pages_find(&pages, at(0x5000)), 0));
	memory_pages_note(&pages, at(0x5000), 65535);
	cr_expect(eq(u64, memory_pages_find(&pages, at(0x5000)), 65535));
}
