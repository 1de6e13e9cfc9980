// SPDX-License-Identifier: MIT
// Compilers that the program ran, whatever the format.
#include "tests/unit/fake_profile.h"
#include "tests/unit/fake_units.h"
#include "tests/unit/made_section.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

TestSuite(sections_compiling, .init = made_begin, .fini = made_end);

static struct compiling_row rows[] = {
	{ "Inductor", 0, MS(2900), MS(16700) },
	{ "cc1plus", 5, MS(20500), MS(11600) },
	{ "as", 3, MS(1), MS(0) },
};

static struct profile *profile(void)
{
	struct profile *p = fake_profile();

	p->compiling = (struct compiling){ .rows = rows,
		                           .count = 3,
		                           .cpu_ns = MS(23401),
		                           .wall_ns = MS(28300),
		                           .all_cpu_ns = MS(60000),
		                           .all_wall_ns = MS(56600) };
	return p;
}

Test(sections_compiling, people_see_who_took_how_much_of_the_time)
{
	cr_expect_str_eq(made_text(made_section(profile(), READER_TEXT, section_compiling)),
	                 "compiling: 28.3 s of 56.6 s (50.0 %), without waiting for a free CPU\n"
	                 "16700000000 | 16700000000/56600000000 | 2900000000 | ? | Inductor\n"
	                 "11600000000 | 11600000000/56600000000 | 20500000000 | 5 | cc1plus\n");
}

Test(sections_compiling, little_is_no_news)
{
	struct profile *p = profile();

	p->compiling.all_cpu_ns = p->compiling.all_wall_ns = MS(56600000);
	cr_expect(not(made_section(p, READER_TEXT, section_compiling)->shown));
}

Test(sections_compiling, programs_get_all_rows)
{
	cr_expect_str_eq(made_text(made_section(profile(), READER_SHEET, section_sheet_compiling)),
	                 "Inductor | 0 | 16700000000 | 2900000000\n"
	                 "cc1plus | 5 | 11600000000 | 20500000000\n"
	                 "as | 3 | 0 | 1000000\n");
}
