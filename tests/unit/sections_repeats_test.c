// SPDX-License-Identifier: MIT
// What every format shows of repeated runs.
#include "tests/support/expect.h"
#include "tests/unit/fake_profile.h"
#include "tests/unit/fake_units.h"
#include "tests/unit/made_section.h"

#include <math.h>
#include <string.h>

TestSuite(sections_repeats, .init = made_begin, .fini = made_end);

Test(sections_repeats, people_see_the_sides_the_verdict_a_table_and_doubts)
{
	const struct profile *p = fake_profile_of_repeats(true);
	const struct section *s = made_section(p, READER_TEXT, section_repeats);

	cr_expect_eq(s->form, SECTION_SIDES);
	cr_expect_str_eq(
		made_text(s),
		"bottleneck bench: 12 runs of each, in turns: 2.50 s\n"
		"A | ./pack --level 9 'my input.tar' output.gz\n"
		"B | ./pack --level 1 'my input.tar' output.gz\n"
		"> B is 38.5 times as fast as A (with 95 % confidence 33.3 to 41.7, 12 pairs).\n"
		"A | ? | ? | ? | 123.5 ms | 122.1 to 124.9 ms | 2.4 % | 121 ms | 310 ms | 190000000 | "
		"10000000 | 128974848\n"
		"B | ? | ? | ? | 3.21 ms | 3.00 to 3.90 ms | 31.2 % | 2.90 ms | 9.00 ms | 2000000 | "
		"1000000 | 12582912\n"
		"> A: It keeps 1.6 CPUs busy.\n"
		"> A: The first run took 2.5 times as long as the median: caches were cold. --warmup "
		"1 leaves it out.\n"
		"> B: 3 of 12 runs are far from the others: something disturbed them.\n"
		"> B: Runs vary very much (IQR 31 % of the median): find out what else the machine "
		"does.\n"
		"> B: A run takes less than 5 ms: most of that is the start of a process. --range "
		"measures one part.\n"
		"> B: 2 runs failed, and do not count.\n"
		"> Other programs kept 2.6 of 8 CPUs busy meanwhile.\n");
}

Test(sections_repeats, of_a_range_calls_are_told_and_not_what_whole_runs_used)
{
	struct profile *p = fake_profile_of_repeats(false);
	struct repeat_row *row = &p->repeats.rows[0];

	row->range = "step";
	row->calls = 36;
	row->spread[REPEAT_CALL] = row->spread[REPEAT_WALL];
	const struct section *table = made_section(p, READER_TEXT, section_repeats)->next->next;
	cr_expect(section_column(table, "calls") != NULL);
	cr_expect(section_column(table, "user") == NULL);
	cr_expect_str_eq(table->rows[0].cells[0].text, "");
	row->spread[REPEAT_CALL].count = 0;
	table = made_section(p, READER_TEXT, section_repeats)->next->next;
	cr_expect_eq(table->row_count, 0);
}

Test(sections_repeats, what_recording_a_range_costs_is_said_where_it_matters)
{
	static const struct spread calls = { .count = 12,
		                             .median = 200,
		                             .q1 = 190,
		                             .q3 = 210,
		                             .min = 180,
		                             .max = 250,
		                             .low = 190,
		                             .high = 210 };
	struct profile *p = fake_profile_of_repeats(false);
	struct repeat_row *row = &p->repeats.rows[0];

	row->range = "step";
	row->calls = 36;
	row->spread[REPEAT_CALL] = calls;
	row->cost_ns = 31;
	row->cost = REPEAT_COST_WHOLE;
	const char *text = made_text(made_section(p, READER_TEXT, section_repeats));
	cr_expect(strstr(text, "Recording took 31.0 ns of each call, by empty ranges in the same "
	                       "runs: that is subtracted.\n") != NULL,
	          "%s", text);
	row->cost = REPEAT_COST_PART;
	text = made_text(made_section(p, READER_TEXT, section_repeats));
	cr_expect(strstr(text, "subtracted, but not what the program takes to get there") != NULL,
	          "%s", text);
	row->cost = REPEAT_COST_UNKNOWN;
	row->cost_ns = 0;
	text = made_text(made_section(p, READER_TEXT, section_repeats));
	cr_expect(strstr(text, "could not be measured") != NULL, "%s", text);
	row->spread[REPEAT_CALL].median = 1e6;
	text = made_text(made_section(p, READER_TEXT, section_repeats));
	cr_expect(strstr(text, "ecording") == NULL, "%s", text);
}

Test(sections_repeats, commands_and_statements_are_one_table)
{
	static const struct spread calls = { .count = 12,
		                             .median = 200,
		                             .q1 = 199,
		                             .q3 = 201,
		                             .min = 190,
		                             .max = 210,
		                             .low = 199,
		                             .high = 201 };
	struct profile *p = fake_profile_of_repeats(true);
	struct repeat_row *row = &p->repeats.rows[1];

	p->repeats.rows[0].threads = 2;
	*row = (struct repeat_row){ .command = "f(x)",
		                    .language = REPEAT_PYTHON,
		                    .threads = 2,
		                    .runs = 12,
		                    .calls = 1200 };
	row->spread[REPEAT_CALL] = calls;
	p->ratio = (struct spread){ .count = 12, .median = 600, .low = 590, .high = 610 };
	const char *text = made_text(made_section(p, READER_TEXT, section_repeats));
	cr_expect(strstr(text, "12 runs and blocks of each, in turns") != NULL, "%s", text);
	cr_expect(strstr(text,
	                 "Python, 2 threads of libraries; of each block the time of a call, of "
	                 "commands the time of a run\n") != NULL,
	          "%s", text);
	cr_expect(strstr(text, "median of a run, or of a call\nA | ? | 123.5 ms  \n"
	                       "B | ? | 200.0 ns *\n") != NULL,
	          "%s", text);
	cr_expect(strstr(text, "A | run | ") != NULL && strstr(text, "B | call | ") != NULL, "%s",
	          text);
}

Test(sections_repeats, programs_get_each_run)
{
	static const struct repeat runs[] = {
		{ .side = 1, .status = 0, .begin_ns = 5, .wall_ns = MS(3), .peak_rss_bytes = 7 },
		{ .side = 2,
		  .status = 9,
		  .calls = 4,
		  .calls_ns = 8,
		  .call_ns = 2,
		  .cost_ns = 5,
		  .cost = REPEAT_COST_WHOLE },
	};
	struct profile *p = fake_profile_of_repeats(true);

	p->repeat_runs = runs;
	p->repeat_run_count = 2;
	cr_expect_str_eq(made_text(made_section(p, READER_SHEET, section_repeat_runs)),
	                 "1 | 5 | 0 | ? | 3000000 | 0 | 0 | 7 | ? | ? | ? | ?\n"
	                 "2 | 0 | ? | 9 | 0 | 0 | 0 | 0 | 4 | 8 | 2 | 5\n");
}

Test(sections_repeats, programs_get_spreads_and_ratios)
{
	struct profile *p = fake_profile_of_repeats(true);
	const char *text = made_text(made_section(p, READER_SHEET, section_repeat_spreads));

	cr_expect(
		strstr(text,
	               "1 | ./pack --level 9 'my input.tar' output.gz | ? | wall | ns | 12 | "
	               "0 | 123450000 | 122100000 | 124900000 | 122000000 | 125000000 | "
	               "3000000 | 121000000 | 310000000 | 140000000 | 3 | 1 | yes | ? | ? | ?\n") ==
			text,
		"%s", text);
	cr_expect_str_eq(made_text(made_section(p, READER_SHEET, section_repeat_ratios)),
	                 "1 | 2 | 12 | 0.026 | 0.024 | 0.03\n");
	p->repeats.rows[0].spread[REPEAT_WALL].count = SPREAD_COUNT_MIN - 1;
	text = made_text(made_section(p, READER_SHEET, section_repeat_spreads));
	cr_expect(strstr(text, " | wall | ns | 12 | 0 | 123450000 | ? | ? | ") != NULL, "%s", text);
}
