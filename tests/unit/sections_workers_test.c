// SPDX-License-Identifier: MIT
// Processes that exchange data, whatever the format.
#include "tests/unit/fake_profile.h"
#include "tests/unit/fake_units.h"
#include "tests/unit/made_section.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

TestSuite(sections_workers, .init = made_begin, .fini = made_end);

static struct worker_row rows[] = {
	{ "python3", 16436, MS(1000), MS(500), MS(100), MS(300), MS(100), 610 },
	{ "python3", 16437, MS(1000), MS(600), MS(200), MS(200), MS(0), 610 },
};

Test(sections_workers, people_see_what_each_did_and_how_much_was_hidden)
{
	struct profile *p = fake_profile();

	p->workers = (struct workers){ .rows = rows, .count = 2, .until_ns = MS(5000) };
	cr_expect_str_eq(
		made_text(made_section(p, READER_TEXT, section_workers)),
		"workers: 37.5 % of the communication is hidden behind computing\n"
		"1000000000 | 500000000 | 500000000/1000000000 | 100000000 | 100000000/1000000000 | "
		"300000000 | 300000000/1000000000 | 100000000 | 610 | python3 | 16436\n"
		"1000000000 | 600000000 | 600000000/1000000000 | 200000000 | 200000000/1000000000 | "
		"200000000 | 200000000/1000000000 | 0 | 610 | python3 | 16437\n"
		"> of the first 5.00 s, whose single calls were kept (--timeline-limit)\n");
	cr_expect_str_eq(
		made_text(made_section(p, READER_SHEET, section_workers)),
		"python3 | 16436 | 1000000000 | 500000000 | 100000000 | 300000000 | 100000000 | 610\n"
		"python3 | 16437 | 1000000000 | 600000000 | 200000000 | 200000000 | 0 | 610\n");
}

Test(sections_workers, a_run_without_them_has_no_table)
{
	cr_expect(not(made_section(fake_profile(), READER_TEXT, section_workers)->shown));
}
