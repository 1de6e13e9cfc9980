// SPDX-License-Identifier: MIT
// Which run a report is of, whatever the format.
#include "tests/support/expect.h"
#include "tests/unit/fake_profile.h"
#include "tests/unit/fake_units.h"
#include "tests/unit/made_section.h"

#include <string.h>

TestSuite(sections_header, .init = made_begin, .fini = made_end);

static struct profile *profile(void)
{
	struct profile *p = fake_profile();

	p->run = (struct run){ .command = "sh -c 'a\nb'",
		               .host = "node7",
		               .version = "9",
		               .wall_ns = MS(41200),
		               .complete = true,
		               .cpus = 8,
		               .samples = 100,
		               .lost = 2 };
	p->totals.processes = 1;
	p->totals.threads = 1200;
	return p;
}

Test(sections_header, people_see_command_and_facts_in_one_line_each)
{
	struct profile *p = profile();

	cr_expect_str_eq(made_text(made_section(p, READER_TEXT, section_header)),
	                 "bottleneck\n"
	                 "sh -c 'a b' | 41.2 s \u00b7 exit 0 \u00b7 1 process, 1,200 threads\n");
	p->run.has_rank = true;
	p->run.rank = 3;
	p->run.world = 16;
	p->run.exit_status = 9;
	cr_expect_str_eq(made_text(made_section(p, READER_TEXT, section_header)),
	                 "bottleneck\n"
	                 "sh -c 'a b' | 41.2 s \u00b7 killed by SIGKILL \u00b7 1 process, 1,200 "
	                 "threads \u00b7 rank 3 of 16 on node7\n");
}

Test(sections_header, a_quota_below_the_cpus_is_told)
{
	struct profile *p = profile();

	p->run.quota_millicpus = 500;
	cr_expect_str_eq(made_text(made_section(p, READER_TEXT, section_header)),
	                 "bottleneck\n"
	                 "sh -c 'a b' | 41.2 s \u00b7 exit 0 \u00b7 1 process, 1,200 threads "
	                 "\u00b7 8 CPUs (quota 0.5)\n");
	p->run.quota_millicpus = 9000;
	cr_expect(strstr(made_text(made_section(p, READER_TEXT, section_header)), "quota") == NULL);
}

Test(sections_header, an_unfinished_run_differs_from_one_with_an_unknown_exit)
{
	struct profile *p = profile();

	p->run.exit_status = -1;
	cr_expect(strstr(made_text(made_section(p, READER_TEXT, section_header)),
	                 " exit unknown ") != NULL);
	p->run.complete = false;
	cr_expect(strstr(made_text(made_section(p, READER_TEXT, section_header)), " unfinished ") !=
	          NULL);
}

Test(sections_header, all_processes_that_were_attached_to_are_named)
{
	static const struct {
		const char *pids, *words;
	} table[] = {
		{ NULL, "attached to PID 12 " },
		{ "12", "attached to PID 12 " },
		{ "12,7", "attached to PIDs 12, 7 " },
		{ "12,7,8,9,10,11", "attached to PIDs 12, 7, 8, 9 and 2 more " },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct profile *p = profile();
		p->run.attached_pid = 12;
		p->run.attached_pids = table[i].pids;
		const char *text = made_text(made_section(p, READER_TEXT, section_header));
		cr_expect(strstr(text, table[i].words) != NULL, "row %zu: %s", i, text);
	}
}

Test(sections_header, which_part_was_recorded_and_which_is_shown)
{
	struct profile *p = profile();

	p->run.recorded_range = "step";
	p->run.recorded_from_ns = MS(100);
	p->run.recorded_to_ns = MS(2100);
	p->run.recorded_ns = MS(1500);
	made_view.from_ns = MS(200);
	made_view.resolved = true;
	made_view.miss = MISS_STEPS;
	const char *text = made_text(made_section(p, READER_TEXT, section_header));
	cr_expect(strstr(text, "> recorded: 1.50 s from 0.100 to 2.100 s, while open: step\n"
	                       "> only ") != NULL,
	          "%s", text);
	cr_expect(strstr(text, "\n> no steps ") != NULL, "%s", text);
}

Test(sections_header, programs_get_the_run_with_what_is_known_of_it)
{
	struct profile *p = profile();

	cr_expect_str_eq(made_text(made_section(p, READER_JSON, section_run)),
	                 "sh -c 'a\nb' | ? | node7 | 9 | 0 | 41200000000 | yes | 0 | ? | 8 | 100 | "
	                 "2 | ? | ? | ? | ?\n");
	p->run.has_rank = true;
	p->run.world = 16;
	p->run.exit_status = 9;
	cr_expect_str_eq(
		made_text(made_section(p, READER_JSON, section_run)),
		"sh -c 'a\nb' | ? | node7 | 0 | 16 | 9 | 0 | 41200000000 | yes | ? | 9 | 8 "
		"| 100 | 2 | ? | ? | ? | ?\n");
	cr_expect_str_eq(made_text(made_section(p, READER_PAGE, section_page_header)),
	                 "[sh -c 'a\nb' | ? | node7 | 0 | 16 | 9 | 0 | 41200000000 | yes | ? | 9 | "
	                 "8 | 100 | 2 | ? | ? | ? | ? | ? | ?; ] | 1 | 1200 | ?\n");
}
