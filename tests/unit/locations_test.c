// SPDX-License-Identifier: MIT
#include "merge/table/locations.h"
#include "tests/support/expect.h"

static struct locations l;

static void begin(void)
{
	cr_assert(locations_init(&l));
}

static void end(void)
{
	locations_fini(&l);
}

TestSuite(locations, .init = begin, .fini = end);

Test(locations, module_address_and_kind_make_a_location)
{
	uint32_t first = locations_add(&l, (struct frame){ 0x10, 1, FRAME_EXACT });

	cr_expect(eq(u32, locations_add(&l, (struct frame){ 0x10, 1, FRAME_EXACT }), first));
	cr_expect(ne(u32, locations_add(&l, (struct frame){ 0x10, 1, FRAME_RETURN }), first));
	cr_expect(ne(u32, locations_add(&l, (struct frame){ 0x10, 2, FRAME_EXACT }), first));
	cr_expect(ne(u32, locations_add(&l, (struct frame){ 0x11, 1, FRAME_EXACT }), first));
	cr_expect(eq(u32, l.unnamed, 4));
}

Test(locations, a_mark_is_one_location_and_needs_no_name)
{
	uint32_t kernel = locations_add(&l, (struct frame){ MARK_KERNEL, 0, FRAME_MARK });

	cr_expect(eq(u32, locations_add(&l, (struct frame){ MARK_KERNEL, 9, FRAME_MARK }), kernel));
	cr_expect(eq(u32, l.unnamed, 0));
}

Test(locations, a_chain_is_kept_as_it_was_given)
{
	const struct place chain[] = {
		{ .function = 1, .file = 2, .line = 3, .declared = 7, .inlined = true },
		{ .function = 4, .file = 5, .line = 6 }
	};
	uint32_t id = locations_add(&l, (struct frame){ 0x10, 1, FRAME_EXACT });

	cr_assert(locations_name(&l, id, chain, 2));
	const struct location *location = locations_get(&l, id);
	cr_expect(eq(int, location->place_count, 2));
	cr_expect(eq(u32, locations_places(&l, location)[0].line, 3));
	cr_expect(eq(u32, locations_places(&l, location)[1].function, 4));
	cr_expect(eq(u32, l.unnamed, 0));
}

Test(locations, an_empty_chain_is_an_answer)
{
	uint32_t id = locations_add(&l, (struct frame){ 0x10, 1, FRAME_EXACT });

	cr_assert(locations_name(&l, id, NULL, 0));
	cr_expect(locations_get(&l, id)->named);
}

Test(locations, what_is_dropped_leaves_the_others_findable)
{
	bool kept[1000];
	uint32_t map[1000];

	for (uint32_t i = 0; i < 1000; i++) {
		locations_add(&l, (struct frame){ i, 1, FRAME_EXACT });
		kept[i] = i % 3 == 0;
	}
	locations_drop(&l, kept, map);
	cr_expect(eq(u32, l.count, 334));
	cr_expect(eq(u32, l.unnamed, 334));
	for (uint32_t i = 0; i < 1000; i += 3)
		cr_assert(eq(u32, locations_add(&l, (struct frame){ i, 1, FRAME_EXACT }), map[i]));
	cr_expect(eq(u32, map[1], 0));
	cr_expect(eq(u32, locations_add(&l, (struct frame){ 1, 1, FRAME_EXACT }), 335));
}
