// SPDX-License-Identifier: MIT
// What every format shows of counters.
#include "tests/support/expect.h"
#include "tests/unit/fake_profile.h"
#include "tests/unit/made_section.h"

TestSuite(sections_counters, .init = made_begin, .fini = made_end);

static struct counter_row rows[] = {
	{ .name = "queue",
	  .provider = "itt",
	  .domain = "io",
	  .changes = 3,
	  .last = 4,
	  .min = -1,
	  .max = 5000.5,
	  .average = 1667.8,
	  .sum = 5003.5 },
	{ .name = "flag", .provider = "nvtx", .domain = "", .untold = 2 },
};

static struct profile *profile(void)
{
	struct profile *p = fake_profile();

	p->counters = (struct counter_rows){ .rows = rows, .count = 2, .lost = 5 };
	return p;
}

Test(sections_counters, the_report_shows_known_values_and_counts_the_others)
{
	cr_expect_str_eq(
		made_text(made_section(profile(), READER_TEXT, section_counters)),
		"counters\n"
		"4 | -1 | 5000.5 | 1668 | 5003.5 | 3 | itt | io: queue\n"
		"(0) | (0) | (0) | (0) | (0) | 0 | nvtx | flag\n"
		"> 7 more changes: their values came too fast to be kept, or were no numbers\n");
}

Test(sections_counters, the_page_has_them_as_a_table_without_what_is_not_known)
{
	cr_expect_str_eq(
		made_text(made_section(profile(), READER_PAGE, section_counters)),
		"Counters\n"
		"4 | -1 | 5000.5 | 1667.8 | 5003.5 | 3 | itt | io: queue\n"
		"? | ? | ? | ? | ? | 0 | nvtx | flag\n"
		"> 7 more changes: their values came too fast to be kept, or were no numbers\n");
}

Test(sections_counters, programs_get_all_of_them_as_they_are)
{
	made_view.top = 1;
	cr_expect_str_eq(made_text(made_section(profile(), READER_SHEET, section_counters)),
	                 "counters\n"
	                 "queue | itt | io | 3 | 0 | 4 | -1 | 1667.8 | 5000.5 | 5003.5\n"
	                 "flag | nvtx | ? | 0 | 2 | (0) | (0) | (0) | (0) | (0)\n"
	                 "> 7 more changes: their values came too fast to be kept, or were no "
	                 "numbers\n");
	cr_expect_eq(made_section(profile(), READER_TEXT, section_counters)->row_count, 1);
}

Test(sections_counters, of_a_window_they_are_said_to_be_of_the_whole_run)
{
	made_view.from_ns = 1;
	cr_expect_str_eq(made_section(profile(), READER_TEXT, section_counters)->subtitle,
	                 "of the whole run");
}

Test(sections_counters, without_any_there_is_nothing_to_show)
{
	cr_expect_eq(made_section(fake_profile(), READER_TEXT, section_counters)->shown, false);
}
