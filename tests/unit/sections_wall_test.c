// SPDX-License-Identifier: MIT
// Wall time by owner, who waited for whom, and what ran side by side, whatever the format.
#include "base/record.h"
#include "tests/support/expect.h"
#include "tests/unit/fake_profile.h"
#include "tests/unit/fake_units.h"
#include "tests/unit/made_section.h"

#include <string.h>

TestSuite(sections_wall, .init = made_begin, .fini = made_end);

// Three threads for 2 s: one alone at "load" for half of it.
static struct profile *profile(void)
{
	struct profile *p = fake_profile();

	p->parallel = (struct parallel){
		.all_ns = MS(2000),
		.none_ns = MS(100),
		.one_ns = MS(1200),
		.serial_ns = MS(1100),
		.more_ns = MS(700),
		.most = 3,
		.at_once_ns = { MS(100), MS(1200), MS(300), MS(400) },
		.alone = { .function = "load", .file = "/src/app.c", .line = 12 },
		.alone_ns = MS(1000),
		.process = "cc1",
		.process_pid = 77,
		.process_ns = MS(200),
	};
	return p;
}

Test(sections_wall, programs_get_the_time_of_each_number_of_threads)
{
	struct section *s = made_section(profile(), READER_SHEET, section_parallel);

	cr_expect_str_eq(made_text(s),
	                 "Parallelism\n"
	                 "0 | 100000000 | 100000000/2000000000 | 0 | ? | ? | ? | 0 | ? | ? | 0\n"
	                 "1 | 1200000000 | 1200000000/2000000000 | 100000000 | load | /src/app.c | "
	                 "12 | 1000000000 | cc1 | 77 | 200000000\n"
	                 "2 | 300000000 | 300000000/2000000000 | 0 | ? | ? | ? | 0 | ? | ? | 0\n"
	                 "3 | 400000000 | 400000000/2000000000 | 0 | ? | ? | ? | 0 | ? | ? | 0\n");
	cr_expect(
		eq(sz, made_section(fake_profile(), READER_SHEET, section_parallel)->row_count, 0));
}

Test(sections_wall, a_page_says_how_much_faster_more_cpus_can_make_it)
{
	const char *text = made_text(made_section(profile(), READER_PAGE, section_parallel));

	cr_expect(strstr(text, "\n> load (app.c:12) was alone on a CPU for 1.00 s of 1.20 s; more "
	                       "CPUs can make the run at most 1.7 times as fast\n") != NULL,
	          "%s", text);
}

Test(sections_wall, a_gain_that_rounds_to_nothing_is_said_to_be_none)
{
	struct profile *p = profile();

	p->parallel.none_ns = MS(850);
	p->parallel.alone.function = "[jit 4711]";
	p->parallel.alone.file = NULL;
	const char *text = made_text(made_section(p, READER_PAGE, section_parallel));
	cr_expect(strstr(text, "\n> code that a JIT compiler made was alone on a CPU for 1.00 s of "
	                       "1.20 s; more CPUs would hardly make the run faster\n") != NULL,
	          "%s", text);
}

Test(sections_wall, a_process_is_named_where_no_place_of_it_is_most)
{
	struct profile *p = profile();

	p->parallel.process_ns = MS(900);
	p->parallel.alone_ns = MS(400);
	const char *text = made_text(made_section(p, READER_PAGE, section_parallel));
	cr_expect(strstr(text, "\n> cc1 (process 77) was alone on a CPU for 900 ms of 1.20 s; ") !=
	                  NULL,
	          "%s", text);
}

// What the process works at says more than its program's name.
Test(sections_wall, a_process_that_is_alone_is_named_with_its_line)
{
	struct profile *p = profile();

	p->parallel.process_ns = MS(900);
	p->parallel.alone_ns = MS(400);
	p->parallel.process_at =
		(struct wait_side){ .function = "render", .file = "/src/job.py", .line = 7 };
	p->parallel.process_at_ns = MS(400);
	const char *text = made_text(made_section(p, READER_PAGE, section_parallel));
	cr_expect(strstr(text, "900 ms of 1.20 s, the largest part in render (job.py:7); more") !=
	                  NULL,
	          "%s", text);
	p->parallel.process_at_ns = MS(500);
	text = made_text(made_section(p, READER_PAGE, section_parallel));
	cr_expect(strstr(text, ", most in render (job.py:7); more") != NULL, "%s", text);
}

// Of 1 s of wall time 0.9 s are work of a thread that holds a lock, 0.1 s waiting for a CPU.
static struct profile *convoy(void)
{
	static struct wait_row waits[] = {
		{ .waiter = { .function = "writer",
		              .file = "/src/app.c",
		              .line = 79,
		              .threads = 3 },
		  .holder = { .function = "flush", .file = "/src/app.c", .line = 47, .threads = 1 },
		  .resource = "journal",
		  .kind = HELD_MUTEX,
		  .cause = METRIC_OFF_LOCK,
		  .ns = MS(2500),
		  .count = 100,
		  .longest_ns = MS(30),
		  .median_ns = MS(20),
		  .wall_ns = MS(800) },
	};
	struct profile *p = profile();

	p->waits = (struct wait_rows){ .rows = waits,
		                       .count = 1,
		                       .ns = MS(2500),
		                       .wall_ns = MS(1000),
		                       .blocked_ns = MS(2600),
		                       .known_ns = MS(2500),
		                       .guessed_ns = MS(1) };
	p->wall = (struct wall_account){
		.ranks = true,
		.all_ns = MS(1000),
		.ns = { [METRIC_ON_CPU] = MS(900), [METRIC_OFF_RUNNABLE] = MS(100) }
	};
	return p;
}

Test(sections_wall, json_has_all_of_it_in_one_row)
{
	const struct section *s = made_section(convoy(), READER_JSON, section_wall_summary);

	cr_assert(eq(sz, s->row_count, 1));
	const struct section_cell *cells = s->rows[0].cells;
	cr_expect(eq(u64, cells[0].count, MS(1000)));
	cr_expect(cells[1].yes);
	cr_expect(gt(sz, cells[5].section->row_count, 0));
	cr_expect(eq(sz, cells[6].section->row_count, 4));
	cr_expect(eq(u64, cells[7].count, MS(2600)));
	cr_expect(eq(u64, cells[8].count, MS(2500)));
	cr_expect(eq(u64, cells[9].count, MS(1)));
	cr_expect(eq(sz, cells[10].section->row_count, 1));
	// Each fact is in a column of its own.
	cr_expect(strstr(made_text(cells[10].section),
	                 " | writer | /src/app.c | 79 | 3 | mutex | flush | /src/app.c | 47 | no | "
	                 "journal | ") != NULL,
	          "%s", made_text(cells[10].section));
	cr_expect(eq(sz, made_section(fake_profile(), READER_JSON, section_wall_summary)->row_count,
	             0));
}

Test(sections_wall, waits_say_that_they_are_of_the_whole_run_where_no_time_is_known)
{
	cr_expect(made_section(convoy(), READER_TEXT, section_waits)->subtitle == NULL);
	made_view.from_ns = MS(100);
	struct profile *p = convoy();
	p->waits.whole_run = p->parallel.whole_run = true;
	cr_expect_str_eq(made_section(p, READER_TEXT, section_waits)->subtitle, "of the whole run");
	const char *text = made_text(made_section(p, READER_TEXT, section_wall));
	cr_expect(strstr(text, "> on CPUs at once, of the whole run: nothing 5.0 %, one thread") !=
	                  NULL,
	          "%s", text);
	p = convoy();
	p->waits.step_ns = MS(64);
	const struct section *s = made_section(p, READER_PAGE, section_waits);
	cr_expect(strstr(s->subtitle, "whole run") == NULL, "%s", s->subtitle);
	cr_expect(strstr(made_text(s), "in steps of 64.0 ms") != NULL, "%s", made_text(s));
	text = made_text(made_section(p, READER_TEXT, section_wall));
	cr_expect(strstr(text, "> on CPUs at once: nothing 5.0 %, one thread") != NULL, "%s", text);
}

// The idle threads of a server wait longest, and nobody for them.
Test(sections_wall, waits_that_the_run_waited_for_come_first_on_a_terminal)
{
	struct wait_row rows[] = {
		{ .waiter = { .function = "idle", .threads = 9 }, .ns = MS(9000), .count = 3 },
		{ .waiter = { .function = "rare", .threads = 1 },
		  .ns = MS(50),
		  .wall_ns = MS(50),
		  .count = 1 },
		{ .waiter = { .function = "locked", .threads = 1 },
		  .ns = MS(600),
		  .wall_ns = MS(600),
		  .count = 1 },
	};
	struct profile *p = convoy();

	p->waits.rows = rows;
	p->waits.count = 3;
	p->waits.ns = MS(9650);
	const char *text = made_text(made_section(p, READER_TEXT, section_waits));
	const char *idle = strstr(text, "idle"), *locked = strstr(text, "locked"),
		   *rare = strstr(text, "rare");
	cr_expect(idle && rare && locked && locked < rare && rare < idle, "%s", text);
	const struct section *sheet = made_section(p, READER_SHEET, section_waits);
	cr_expect(eq(sz, sheet->row_count, 3));
	cr_expect(eq(u64, sheet->rows[0].cells[0].count, MS(9000)), "programs have them by total");
}

// Of other people's code a reader knows the program rather than the function.
Test(sections_wall, waits_in_code_of_others_name_the_process)
{
	struct profile *p = convoy();
	struct wait_side *waiter = &p->waits.rows[0].waiter, *holder = &p->waits.rows[0].holder;

	*waiter = (struct wait_side){ .function = "zread", .process = "run.sh", .threads = 1 };
	*holder = (struct wait_side){ .function = "cut", .process = "cut", .threads = 1 };
	const char *text = made_text(made_section(p, READER_TEXT, section_waits));
	cr_expect(strstr(text, " | zread in run.sh | ") != NULL, "%s", text);
	cr_expect(strstr(text, " | cut | ") != NULL, "%s", text);
	waiter->own = true;
	text = made_text(made_section(p, READER_TEXT, section_waits));
	cr_expect(strstr(text, " | zread | ") != NULL, "%s", text);
}

// One program's name on each line is no news; code without symbols, and what a child did most
// before it ended, are no names of what is waited for.
Test(sections_wall, waits_name_no_more_than_tells_programs_apart)
{
	struct profile *p = convoy();
	struct wait_row *row = &p->waits.rows[0];

	row->waiter = (struct wait_side){ .function = "recv", .process = "python", .threads = 1 };
	row->holder = (struct wait_side){ .function = "dumps", .process = "python", .threads = 1 };
	const char *text = made_text(made_section(p, READER_TEXT, section_waits));
	cr_expect(strstr(text, " | recv | ") && strstr(text, " | dumps | "), "%s", text);
	row->waiter = (struct wait_side){
		.function = "x86_64-gcc-12", .nameless = true, .process = "gcc", .threads = 1
	};
	row->holder = (struct wait_side){ .function = "walk", .process = "cc1", .threads = 1 };
	text = made_text(made_section(p, READER_TEXT, section_waits));
	cr_expect(strstr(text, " | gcc | ") && strstr(text, " | walk in cc1 | "), "%s", text);
	row->kind = 0;
	row->cause = METRIC_OFF_CHILD;
	text = made_text(made_section(p, READER_TEXT, section_waits));
	cr_expect(strstr(text, " | cc1 | ") != NULL, "%s", text);
}

Test(sections_wall, what_cannot_be_known_is_said_with_its_reason)
{
	struct profile *p = fake_profile();

	const char *text = made_text(made_section(p, READER_TEXT, section_waits));
	cr_expect(strstr(text, "> No waits of threads or processes for each other") != NULL, "%s",
	          text);
	p->run.recorded_range = "work";
	text = made_text(made_section(p, READER_TEXT, section_waits));
	cr_expect(strstr(text, "> Who waited for whom is not known of a run that was recorded in "
	                       "part; record all of it") != NULL,
	          "%s", text);
	text = made_text(made_section(p, READER_TEXT, section_limits));
	cr_expect(strstr(text, "> what the end of the run waited for is not known of a run that "
	                       "was recorded in part") != NULL,
	          "%s", text);
	p->ranks.count = 2;
	text = made_text(made_section(p, READER_TEXT, section_waits));
	cr_expect(strstr(text,
	                 "> Who waited for whom is not known of these merged profiles: that of "
	                 "who works longest has nothing of it.") != NULL,
	          "%s", text);
}
