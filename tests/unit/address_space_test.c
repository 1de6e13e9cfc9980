// SPDX-License-Identifier: MIT
#include "sampler/unwind/address_space.h"
#include "tests/support/expect.h"

#include <stdio.h>

static struct address_space *space_with(uint64_t start, uint64_t length, uint64_t offset,
                                        uint32_t module)
{
	struct address_space *space = address_space_new();

	cr_assert(space != NULL);
	cr_assert(address_space_map(space, start, length, offset, module));
	return space;
}

/* "START-END+OFFSET@MODULE", or "none". */
static const char *at(struct address_space *space, uint64_t address)
{
	static char text[80];
	const struct mapping *m = address_space_find(space, address);

	if (!m)
		return "none";
	snprintf(text, sizeof(text), "%lx-%lx+%lx@%u", m->start, m->end, m->file_offset, m->module);
	return text;
}

Test(address_space, an_address_is_found_from_the_first_byte_to_the_last)
{
	cleanup(address_space) struct address_space *space = space_with(0x1000, 0x1000, 0x500, 7);

	cr_expect(eq(str, (char *)at(space, 0xfff), "none"));
	cr_expect(eq(str, (char *)at(space, 0x1000), "1000-2000+500@7"));
	cr_expect(eq(str, (char *)at(space, 0x1fff), "1000-2000+500@7"));
	cr_expect(eq(str, (char *)at(space, 0x2000), "none"));
}

Test(address_space, what_is_unmapped_is_not_found)
{
	cleanup(address_space) struct address_space *space = space_with(0x1000, 0x3000, 0, 7);
	uint64_t before = address_space_fingerprint(space);

	cr_expect(address_space_unmap(space, 0x2000, 0x1000));
	cr_expect(eq(str, (char *)at(space, 0x1fff), "1000-2000+0@7"));
	cr_expect(eq(str, (char *)at(space, 0x2000), "none"));
	cr_expect(eq(str, (char *)at(space, 0x3000), "3000-4000+2000@7"));
	cr_expect(not(eq(u64, address_space_fingerprint(space), before)));
	cr_expect(address_space_unmap(space, 0, UINT64_MAX));
	cr_expect(eq(sz, address_space_count(space), 0));
}

Test(address_space, a_later_mapping_cuts_what_it_overlaps)
{
	static const struct {
		uint64_t start, length;
		const char *low, *middle, *high; // at 0x1800, 0x3800, 0x5800
	} rows[] = {
		{ 0x3000, 0x1000, "1000-3000+0@1", "3000-4000+0@2", "4000-6000+3000@1" },
		{ 0x0, 0x2000, "0-2000+0@2", "2000-6000+1000@1", "2000-6000+1000@1" },
		{ 0x5000, 0x2000, "1000-5000+0@1", "1000-5000+0@1", "5000-7000+0@2" },
		{ 0x1000, 0x5000, "1000-6000+0@2", "1000-6000+0@2", "1000-6000+0@2" },
		{ 0x0, 0x9000, "0-9000+0@2", "0-9000+0@2", "0-9000+0@2" },
		{ 0x6000, 0x1000, "1000-6000+0@1", "1000-6000+0@1", "1000-6000+0@1" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cleanup(address_space) struct address_space *space =
			space_with(0x1000, 0x5000, 0, 1);
		cr_assert(address_space_map(space, rows[i].start, rows[i].length, 0, 2));
		cr_expect(eq(str, (char *)at(space, 0x1800), (char *)rows[i].low), "row %zu", i);
		cr_expect(eq(str, (char *)at(space, 0x3800), (char *)rows[i].middle), "row %zu", i);
		cr_expect(eq(str, (char *)at(space, 0x5800), (char *)rows[i].high), "row %zu", i);
	}
}

Test(address_space, one_mapping_replaces_many)
{
	cleanup(address_space) struct address_space *space = address_space_new();

	for (uint64_t i = 0; i < 10; i++)
		cr_assert(address_space_map(space, 0x1000 * i, 0x1000, 0, (uint32_t)i + 1));
	cr_assert(address_space_map(space, 0x1800, 0x6000, 0, 99));
	cr_expect(eq(sz, address_space_count(space), 6));
	cr_expect(eq(str, (char *)at(space, 0x17ff), "1000-1800+0@2"));
	cr_expect(eq(str, (char *)at(space, 0x1800), "1800-7800+0@99"));
	cr_expect(eq(str, (char *)at(space, 0x7800), "7800-8000+800@8"));
}

/* The same operations on a plain array of pages. */
Test(address_space, agrees_with_a_page_table_over_many_random_mappings)
{
	enum {
		PAGES = 64
	};
	uint32_t modules[PAGES] = { 0 }, offsets[PAGES] = { 0 };
	uint32_t seed = 1;
	cleanup(address_space) struct address_space *space = address_space_new();

	for (uint32_t round = 1; round < 3000; round++) {
		seed = seed * 1103515245 + 12345;
		uint32_t first = seed >> 16 & (PAGES - 1);
		uint32_t count = 1 + (seed >> 24) % (PAGES - first);
		cr_assert(address_space_map(space, first, count, 1000, round));
		for (uint32_t i = 0; i < count; i++) {
			modules[first + i] = round;
			offsets[first + i] = 1000 + i;
		}
		for (uint32_t page = 0; page < PAGES; page++) {
			const struct mapping *m = address_space_find(space, page);
			cr_assert(eq(u32, m ? m->module : 0, modules[page]));
			if (m)
				cr_assert(eq(u64, m->file_offset + page - m->start, offsets[page]));
		}
	}
}

Test(address_space, what_lies_beside_an_address_is_found)
{
	static const struct {
		uint64_t address;
		uint32_t before, behind; // modules
	} rows[] = {
		{ 0x500, 0, 1 },  { 0x1800, 0, 2 }, { 0x2000, 1, 2 },
		{ 0x3500, 1, 2 }, { 0x4000, 1, 0 }, { 0x5000, 2, 0 },
	};
	cleanup(address_space) struct address_space *space = space_with(0x1000, 0x1000, 0, 1);

	cr_assert(address_space_map(space, 0x4000, 0x1000, 0, 2));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct mapping *near[2];
		address_space_neighbours(space, rows[i].address, near);
		cr_expect(eq(u32, near[0] ? near[0]->module : 0, rows[i].before), "row %zu", i);
		cr_expect(eq(u32, near[1] ? near[1]->module : 0, rows[i].behind), "row %zu", i);
	}
}

Test(address_space, a_copy_lives_on_its_own)
{
	cleanup(address_space) struct address_space *parent = space_with(0x1000, 0x1000, 0, 1);
	cleanup(address_space) struct address_space *child = address_space_copy(parent);

	cr_assert(child != NULL);
	cr_expect(eq(u64, address_space_fingerprint(child), address_space_fingerprint(parent)));
	address_space_map(child, 0x1000, 0x1000, 0, 2);
	cr_expect(ne(u64, address_space_fingerprint(child), address_space_fingerprint(parent)));
	cr_expect(eq(str, (char *)at(parent, 0x1000), "1000-2000+0@1"));
	cr_expect(eq(str, (char *)at(child, 0x1000), "1000-2000+0@2"));
}

Test(address_space, an_exec_forgets_everything)
{
	cleanup(address_space) struct address_space *space = space_with(0x1000, 0x1000, 0, 1);

	address_space_clear(space);
	cr_expect(eq(str, (char *)at(space, 0x1000), "none"));
	cr_expect(eq(sz, address_space_count(space), 0));
}

Test(address_space, lengths_that_cannot_be_do_no_harm)
{
	cleanup(address_space) struct address_space *space = space_with(0x1000, 0, 0, 1);

	cr_expect(eq(sz, address_space_count(space), 0));
	cr_assert(address_space_map(space, UINT64_MAX - 100, 4096, 0, 2));
	cr_expect(eq(u32, address_space_find(space, UINT64_MAX - 1)->module, 2));
	cr_expect(eq(ptr, address_space_find(space, 10), NULL));
}
