// SPDX-License-Identifier: MIT
#include "base/error.h"
#include "sampler/unwind/cfi_table.h"
#include "sampler/unwind/image.h"
#include "tests/support/expect.h"

#include <fcntl.h>
#include <string.h>

#define LIBM "/lib/x86_64-linux-gnu/libm.so.6"
#define HEAD 12 /* bytes of .eh_frame_hdr before the table */

/* libm's sections; the search table as a copy that tests may change. */
struct sections {
	struct image *image;
	struct image_section eh, hdr;
	uint8_t *copy;
};

static void sections_free(struct sections s)
{
	image_free(s.image);
	free(s.copy);
}

CLEANUP(sections, struct sections, sections_free)

static struct sections sections_open(void)
{
	struct sections s = { .image = image_of_file(open(LIBM, O_RDONLY | O_CLOEXEC), NULL) };

	cr_assert(s.image != NULL);
	s.eh = image_eh_frame(s.image);
	s.hdr = image_eh_frame_hdr(s.image);
	s.copy = malloc(s.hdr.size);
	cr_assert(s.copy && s.eh.size && s.hdr.size > 100);
	memcpy(s.copy, s.hdr.bytes, s.hdr.size);
	return s;
}

static bool take(const struct sections *s, struct cfi_search *search)
{
	return cfi_search_take(search, s->copy, s->hdr.size, s->hdr.address);
}

Test(cfi_search, a_table_that_is_made_is_the_linkers)
{
	cleanup(sections) struct sections s = sections_open();
	struct cfi_search taken = { 0 }, made = { 0 };
	struct cfi_section section;

	cr_assert(cfi_section_init(&section, s.eh.bytes, s.eh.size, s.eh.address, false));
	cr_assert(take(&s, &taken) && cfi_search_make(&made, &section));
	cr_assert(eq(sz, made.count, taken.count));
	for (size_t i = 0; i < taken.count; i++) {
		uint64_t function = cfi_search_function(&taken, i);
		cr_expect(eq(u64, cfi_search_function(&made, i), function));
		cr_expect(eq(u64, cfi_search_fde(&made, i), cfi_search_fde(&taken, i)));
		cr_expect(eq(sz, cfi_search_up_to(&taken, function), i + 1));
		cr_expect(eq(sz, cfi_search_up_to(&taken, function - 1), i));
	}
	cfi_search_fini(&made);
	cfi_section_fini(&section);
}

Test(cfi_search, a_table_of_another_form_or_out_of_order_is_not_taken)
{
	static const struct {
		const char *name;
		size_t at; // in .eh_frame_hdr
		uint8_t value;
	} rows[] = {
		{ "another version", 0, 2 },       { "a pointer of 8 bytes", 1, 0x04 },
		{ "a count of 8 bytes", 2, 0x04 }, { "no table", 3, 0xff },
		{ "more entries", HEAD - 1, 1 },   { "not sorted", HEAD + 3, 0x7f },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cleanup(sections) struct sections s = sections_open();
		struct cfi_search search = { 0 };
		cr_expect(take(&s, &search), "as it is");
		s.copy[rows[i].at] = rows[i].value;
		search = (struct cfi_search){ 0 };
		cr_expect(not(take(&s, &search)), "%s", rows[i].name);
		cr_expect(eq(sz, search.count, 0), "%s", rows[i].name);
	}
	cleanup(sections) struct sections s = sections_open();
	struct cfi_search search = { 0 };
	for (size_t size = 0; size < HEAD + 8; size++)
		cr_expect(not(cfi_search_take(&search, s.copy, size, s.hdr.address)), "%zu", size);
}

Test(cfi_search, an_entry_that_names_the_wrong_fde_gives_its_function_no_rule)
{
	cleanup(sections) struct sections s = sections_open();
	struct cfi_section section;
	uint64_t start, end;

	// The first function's FDE is the second's, and the third's lies nowhere.
	memcpy(s.copy + HEAD + 4, s.copy + HEAD + 8 + 4, 4);
	memset(s.copy + HEAD + 16 + 4, 0x7f, 4);
	cr_assert(cfi_section_init(&section, s.eh.bytes, s.eh.size, s.eh.address, false));
	cr_assert(take(&s, &section.search));
	image_text(s.image, &start, &end);
	cleanup(cfi_table) struct cfi_table *table = cfi_table_new(&section, 1, start, end, NULL);
	cr_assert(table != NULL);
	for (size_t i = 0; i < 4; i++) {
		uint64_t function = cfi_search_function(&table->sections[0].search, i);
		bool has_rule = cfi_table_rule(table, function)->cfa != CFI_NO_RULE;
		cr_expect(eq(int, has_rule, i % 2), "function %zu", i);
	}
}
