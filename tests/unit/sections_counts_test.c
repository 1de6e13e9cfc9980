// SPDX-License-Identifier: MIT
// Counted instructions, and the CPUs' clock, as tables.
#include "cli/report/counts.h"
#include "tests/support/expect.h"
#include "tests/unit/fake_profile.h"
#include "tests/unit/made_section.h"

#include <stdlib.h>

TestSuite(sections_counts, .init = made_begin, .fini = made_end);

static struct count_row rows[] = {
	{ .name = "work",
	  .file = "/src/a.c",
	  .line = 7,
	  .module = "/opt/app",
	  .self = 40,
	  .total = 100,
	  .calls = 3 },
	{ .name = "[libc.so.6]", .module = "/lib/libc.so.6", .self = 2, .total = 2, .calls = 1 },
};
static struct counts_query asked;
static bool counted;

bool profile_has_counts(const struct profile *p)
{
	(void)p;
	return counted;
}

struct count_rows *query_counts(const struct profile *p, const struct counts_query *query,
                                struct error *err)
{
	struct count_rows *found = calloc(1, sizeof(*found));

	(void)p, (void)err;
	asked = *query;
	*found = (struct count_rows){ .rows = rows,
		                      .count = 2,
		                      .noise = query->noise ? 0 : 9,
		                      .all = 142,
		                      .baseline_all = query->baseline ? 100 : 0,
		                      .unnamed = 2,
		                      .unnamed_module = "/lib/libc.so.6" };
	return found;
}

void count_rows_free(struct count_rows *found)
{
	free(found);
}

Test(sections_counts, all_functions_with_what_varies_from_run_to_run)
{
	cr_expect_str_eq(made_text(made_section(fake_profile(), READER_SHEET, section_counts)),
	                 "work | /src/a.c | /opt/app | 40 | 100 | 3\n"
	                 "[libc.so.6] | ? | /lib/libc.so.6 | 2 | 2 | 1\n");
	cr_expect(asked.noise && asked.by == COUNTS_BY_FUNCTION);
}

Test(sections_counts, lines_have_no_total)
{
	cr_expect_str_eq(made_text(made_section(fake_profile(), READER_SHEET, section_count_lines)),
	                 "/src/a.c | 7 | 40\n"
	                 "? | ? | 2\n");
	cr_expect(asked.noise && asked.by == COUNTS_BY_LINE);
}

Test(sections_counts, totals_are_those_of_a_count)
{
	counted = true;
	cr_expect_str_eq(
		made_text(made_section(fake_profile(), READER_SHEET, section_count_totals)),
		"142 | 9 | 2 | /lib/libc.so.6 | 0 | ?\n");
	counted = false;
	cr_expect_eq(made_section(fake_profile(), READER_SHEET, section_count_totals)->row_count,
	             0);
}

static struct counts_shown asked_for;

static struct section *report_on_a_count(struct report *r, struct error *err)
{
	return section_count_report(r, &asked_for, err);
}

Test(sections_counts, people_see_shares_of_all_and_what_the_rows_leave_out)
{
	asked_for = (struct counts_shown){ .top = 1 };
	cr_expect_str_eq(
		made_text(made_section(fake_profile(), READER_TEXT, report_on_a_count)),
		"bottleneck count\n"
		"./pack --level 9 'my input.tar' output.gz | 142 instructions\n"
		"40 | 28.17 | 100 | 70.42 | 3 | work | a.c\n"
		"> and 1 more rows: --top\n"
		"> without 9 of the dynamic loader and of look-ups of names, which vary from run "
		"to run (--noise)\n");
}

Test(sections_counts, people_see_what_differs_from_a_baseline_with_its_sign)
{
	asked_for = (struct counts_shown){ .query = { .by = COUNTS_BY_LINE,
		                                      .baseline = fake_profile() },
		                           .baseline = "yesterday",
		                           .top = 5 };
	cr_expect_str_eq(
		made_text(made_section(fake_profile(), READER_TEXT, report_on_a_count)),
		"bottleneck count\n"
		"./pack --level 9 'my input.tar' output.gz | 142 instructions\n"
		"> +42 than yesterday, which has 100 (+42.00 %)\n"
		"+40 | 40.00 | work:7\n"
		"+2 | 2.00 | [libc.so.6]\n"
		"> without +9 of the dynamic loader and of look-ups of names, which vary from run "
		"to run (--noise)\n");
}

// Not of what the interpreter took to start: that is in both, and a thousand times as much.
Test(sections_counts, shares_of_a_statement_are_of_what_its_calls_take)
{
	struct counts_calls calls = { .count = 10, .each = 8 };

	asked_for = (struct counts_shown){ .query = { .by = COUNTS_BY_LINE,
		                                      .baseline = fake_profile() },
		                           .calls = &calls,
		                           .top = 1 };
	cr_expect(strstr(made_text(made_section(fake_profile(), READER_TEXT, report_on_a_count)),
	                 "\n+40 | 50.00 | work:7\n") != NULL);
	calls.versus = "other()";
	calls.versus_each = 16;
	cr_expect(strstr(made_text(made_section(fake_profile(), READER_TEXT, report_on_a_count)),
	                 "\n+40 | 25.00 | work:7\n") != NULL);
}

Test(sections_counts, programs_get_all_rows_and_what_is_not_known_as_null)
{
	asked_for = (struct counts_shown){ .top = 1 };
	cr_expect_str_eq(made_text(made_section(fake_profile(), READER_JSON, report_on_a_count)),
	                 "bottleneck count\n"
	                 "./pack --level 9 'my input.tar' output.gz | 142 | ? | 9 | 2 | 0 | "
	                 "[work | /src/a.c | 7 | /opt/app | 40 | 100 | 3; "
	                 "[libc.so.6] | ? | ? | /lib/libc.so.6 | 2 | 2 | 1; ]\n");
}

Test(sections_counts, readings_of_the_cpus_clock_have_their_times_in_ns)
{
	struct profile *p = fake_profile();

	p->run.cpu_clock = "3:2100";
	cr_expect_str_eq(made_text(made_section(p, READER_SHEET, section_sheet_cpu_clock)),
	                 "3000000 | 2100\n");
}
