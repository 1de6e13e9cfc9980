// SPDX-License-Identifier: MIT
// Where the wall time went, whatever the format.
#include "tests/support/expect.h"
#include "tests/unit/fake_profile.h"
#include "tests/unit/fake_units.h"
#include "tests/unit/made_section.h"

#include <string.h>

TestSuite(sections_account, .init = made_begin, .fini = made_end);

static struct profile *profile(void)
{
	struct profile *p = fake_profile();

	p->run.wall_ns = MS(10000);
	p->run.cpus = 4;
	p->totals.threads = 2;
	p->totals.on_cpu_ns = MS(15000);
	p->account = (struct account){
		.thread = "work",
		.tid = 4712,
		.process = "app",
		.pid = 4711,
		.exact = true,
		.lifetime_ns = MS(9000),
		.kernel_ns = MS(1000),
		.gil_held_ns = MS(4500),
		.ns = { [METRIC_ON_CPU] = MS(6000), [METRIC_OFF_LOCK] = MS(3000) }
	};
	return p;
}

Test(sections_account, people_see_parts_of_the_whole_then_what_they_rest_on)
{
	const struct section *s = made_section(profile(), READER_TEXT, section_account);
	const char *text = made_text(s);

	cr_expect_eq(s->form, SECTION_PARTS);
	cr_expect(strstr(text,
	                 "wall time of the busiest thread: 9.00 s of thread work (4712) in app\n"
	                 "on a CPU | user code | 5000000000\n"
	                 "on a CPU | kernel | 1000000000\n"
	                 "waiting for | a free CPU | 0\n") == text,
	          "%s", text);
	cr_expect(strstr(text, "\nwaiting for | locks | 3000000000\n") != NULL, "%s", text);
	cr_expect(strstr(text, "\n> Python's lock, the GIL: held 50.0 %, waited for 0.0 %\n"
	                       "> all threads: 1.5 of 4 CPUs busy on average\n") != NULL,
	          "%s", text);
	cr_expect_eq(s->rows[0].tone, TONE_HOT);
}

Test(sections_account, who_had_the_cpus_that_it_waited_for)
{
	struct profile *p = profile();

	p->account.ns[METRIC_OFF_RUNNABLE] = MS(1000);
	p->account.ns[METRIC_OFF_LOCK] = MS(2000);
	p->run.quota_millicpus = 1500;
	p->contention = (struct contention_answer){
		.critical = { .quota_ns = MS(900), .own_ns = MS(99), .others_ns = MS(1) },
		.throttled_ns = MS(900)
	};
	const char *text = made_text(made_section(p, READER_TEXT, section_account));
	cr_expect(strstr(text,
	                 "\n> waiting for a free CPU, by cause: CPU quota (cgroup) 90.0 %, own "
	                 "threads 9.9 %\n") != NULL,
	          "%s", text);
	cr_expect(strstr(text, "\n> all threads: 1.5 of 1.5 CPUs busy on average\n") != NULL, "%s",
	          text);
	p->contention.critical =
		(struct contention_parts){ .own_ns = MS(250), .nobody_ns = MS(750) };
	text = made_text(made_section(p, READER_TEXT, section_account));
	cr_expect(strstr(text, "by cause: own threads 25.0 %, nobody (a CPU was idle) 75.0 %\n") !=
	                  NULL,
	          "%s", text);
}

Test(sections_account, one_thread_says_nothing_of_all)
{
	struct profile *p = profile();

	p->totals.threads = 1;
	p->account.is_main = true;
	p->account.exact = false;
	const struct section *s = made_section(p, READER_TEXT, section_account);
	cr_expect(s->notes == NULL);
	cr_expect_str_eq(s->title, "wall time of the main thread");
	cr_expect_str_eq(s->subtitle, "9.00 s, estimated from samples");
}

Test(sections_account, a_page_has_the_parts_that_there_are)
{
	struct profile *p = profile();

	cr_expect_str_eq(
		made_text(made_section(p, READER_PAGE, section_account_row)),
		"no | work | app | 4712 | yes | 9000000000 | [user | user code | 5000000000; "
		"kernel | kernel | 1000000000; lock | locks | 3000000000; ] | 4500000000 | "
		"0 | 1.5 | 0 | 0 | 0 | 0 | no | 0 | 0 | 0\n");
	made_view.from_ns = p->run.wall_ns;
	cr_expect(section_column(made_section(p, READER_PAGE, section_account_row), "cpus_busy") ==
	          NULL);
}

Test(sections_account, a_page_has_wall_time_where_that_ranks)
{
	struct profile *p = profile();

	p->wall = (struct wall_account){
		.ranks = true,
		.all_ns = MS(8000),
		.ns = { [METRIC_ON_CPU] = MS(7000), [METRIC_OFF_PIPE] = MS(1000) }
	};
	const char *page = made_text(made_section(p, READER_PAGE, section_account_row));
	cr_expect(strstr(page, " | 8000000000 | [user | user code | 7000000000; pipe | pipes | "
	                       "1000000000; ] | ") != NULL,
	          "%s", page);
	cr_expect(strstr(page, " | yes | 0 | 0 | 0\n") != NULL, "%s", page);
	// Programs have that in a table of its own.
	const char *sheet = made_text(made_section(p, READER_SHEET, section_account_row));
	cr_expect(strstr(sheet, " | 9000000000 | ") != NULL, "%s", sheet);
}

Test(sections_account, programs_get_a_column_for_each_metric)
{
	struct profile *p = profile();
	const struct section *s = made_section(p, READER_SHEET, section_account_row);

	cr_assert_eq(s->row_count, 1);
	cr_expect_eq(s->column_count, 15 + METRIC_COUNT);
	cr_expect(section_column(s, "wait_lock_ns") != NULL);
	cr_expect(strncmp(made_text(s), "work | 4712 | app | 4711 | no | yes | 9000000000 | ",
	                  51) == 0);
	p->account.lifetime_ns = 0;
	cr_expect_eq(made_section(p, READER_SHEET, section_account_row)->row_count, 0);
	cr_expect_eq(made_section(p, READER_TEXT, section_account)->shown, false);
}
