// SPDX-License-Identifier: MIT
// The table of ops by torch.nn.Module.
#include "tests/unit/fake_profile.h"
#include "tests/unit/fake_units.h"
#include "tests/unit/made_section.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

TestSuite(sections_modules, .init = made_begin, .fini = made_end);

static struct op_row rows[] = {
	{ .name = "Net.fc1 (Linear)",
	  .provider = "torch",
	  .domain = "",
	  .shape = "",
	  .stack = "",
	  .calls = 300,
	  .self_ns = MS(20),
	  .total_ns = MS(20) },
	{ .name = "[in no module]",
	  .provider = "torch",
	  .domain = "",
	  .shape = "",
	  .stack = "",
	  .calls = 3,
	  .self_ns = MS(2),
	  .total_ns = MS(2) },
};

static struct section *section(enum reader reader, const struct op_row *ops, size_t count)
{
	struct profile *p = fake_profile();

	p->ops = ops;
	p->op_count = count;
	return made_section(p, reader, section_op_modules);
}

Test(sections_modules, programs_and_pages_get_all_modules)
{
	cr_expect(eq(sz, section(READER_SHEET, rows, 2)->row_count, 2));
	const struct section *page = section(READER_PAGE, rows, 2);
	cr_expect(eq(sz, page->row_count, 2));
	for (size_t i = 0; i < page->column_count; i++)
		if (strcmp(page->columns[i].id, "name") == 0)
			cr_expect_str_eq(page->columns[i].page_heading, "module");
}

Test(sections_modules, what_is_in_no_module_is_no_table)
{
	cr_expect(eq(sz, section(READER_SHEET, &rows[1], 1)->row_count, 0));
	cr_expect(eq(sz, section(READER_PAGE, rows, 0)->row_count, 0));
}
