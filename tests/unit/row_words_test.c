// SPDX-License-Identifier: MIT
#include "cli/report/row_words.h"

#include "cli/report/view.h"
#include "tests/support/expect.h"
#include "tests/unit/merge_fixture.h"

#include <stdio.h>

static struct fixture f;

static void begin(void)
{
	fixture_init(&f, NULL);
}

static void end(void)
{
	fixture_fini(&f);
}

TestSuite(row_words, .init = begin, .fini = end);

// "a.c:3 30, …", best first.
static const char *lines(bool *own_code)
{
	static char text[256];
	struct view view = view_default();
	cleanup(rows) struct rows *rows = rows_by_line(f.profile, &view, SORT_SELF, own_code, NULL);
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < rows->count && used < sizeof(text); i++)
		if (rows->rows[i].self && rows->rows[i].line)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s:%d %d",
			                         used ? ", " : "", rows->rows[i].file,
			                         rows->rows[i].line,
			                         (int)(rows->rows[i].self / MS));
	return text;
}

Test(row_words, a_line_of_the_users_own_has_what_it_calls_of_libraries)
{
	bool own_code = false;

	add(&f, 1, METRIC_ON_CPU, 10, "main a.c:1 > sorts a.c:3");
	add(&f, 1, METRIC_ON_CPU, 20, "main a.c:1 > sorts a.c:3 > qsort@libc > memcpy@libc");
	add(&f, 1, METRIC_ON_CPU, 9, "main a.c:1 > sorts a.c:3 > qsort@libc > compares a.c:8");
	add(&f, 1, METRIC_ON_CPU, 6,
	    "main a.c:1 > sorts a.c:4 > operator[] /usr/include/c++/12/bits/stl_map.h:507");
	name_all(&f);
	cr_expect(eq(str, (char *)lines(&own_code), "a.c:3 30, a.c:8 9, a.c:4 6"));
	cr_expect(own_code);
}

Test(row_words, a_line_with_a_function_in_it_is_one_line)
{
	add(&f, 1, METRIC_ON_CPU, 9, "main a.c:1 > sorts a.c:3 > qsort@libc > sorts.less a.c:3");
	add(&f, 1, METRIC_ON_CPU, 8, "main a.c:1 > sorts a.c:3 > qsort@libc");
	add(&f, 1, METRIC_ON_CPU, 10, "main a.c:1");
	name_all(&f);
	cr_expect(eq(str, (char *)lines(NULL), "a.c:3 17, a.c:1 10"));
}

Test(row_words, where_no_line_is_the_users_own_libraries_have_theirs)
{
	bool own_code = true;

	add(&f, 1, METRIC_ON_CPU, 10, "start@libc > sort /usr/include/x.h:3");
	name_all(&f);
	cr_expect(eq(str, (char *)lines(&own_code), "/usr/include/x.h:3 10"));
	cr_expect(!own_code);
}

// Who is woken from a wait and finds no CPU has waited, first of all, for that.
Test(row_words, waiting_for_a_cpu_makes_no_row_one_of_code_that_runs)
{
	struct row row = { .name = "read", .module = "libc.so.6" };

	row.self_ns[METRIC_ON_CPU] = 5;
	row.self_ns[METRIC_OFF_RUNNABLE] = 60;
	row.self_ns[METRIC_OFF_FILE] = 30;
	cr_expect(eq(str, (char *)row_kind_words(&row), "file wait"));
	row.self_ns[METRIC_ON_CPU] = 31;
	cr_expect(eq(str, (char *)row_kind_words(&row), "native"));
}

Test(row_words, what_only_starts_a_program_is_known)
{
	cr_expect(row_is_startup("__libc_start_main"));
	cr_expect(row_is_startup("runtime.goexit"));
	cr_expect(row_is_startup("_dl_sysdep_start"));
	cr_expect(!row_is_startup("main.main"));
}
