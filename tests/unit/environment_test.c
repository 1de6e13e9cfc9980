// SPDX-License-Identifier: MIT
#include "merge/table/environment.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>
#include <string.h>

static char *print(const struct environment_row *rows, size_t count)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (size_t i = 0; i < count; i++)
		environment_print(out, &rows[i]);
	fclose(out);
	return text;
}

Test(environment, rows_are_printed_and_read_again)
{
	const struct environment_row rows[] = {
		{ "python", "torch", "2.1.0", "/site/torch" },
		{ "variable", "OMP_NUM_THREADS", "4", NULL },
		{ "library", "OpenMP: GNU", NULL, "/lib/libgomp.so.1" },
	};
	cleanup_free char *text = print(rows, 3);
	cleanup(environment) struct environment *e = environment_parse(text);

	cr_assert(ne(ptr, e, NULL));
	cr_assert(eq(sz, e->count, 3));
	cr_expect_str_eq(e->rows[0].path, "/site/torch");
	cr_expect_str_eq(e->rows[1].value, "4");
	cr_expect_str_eq(e->rows[1].path, "");
	cr_expect_str_eq(e->rows[2].value, "");
	cr_expect_str_eq(environment_find(e, "python", "torch"), "2.1.0");
	cr_expect(eq(ptr, (void *)environment_find(e, "python", "numpy"), NULL));
}

Test(environment, a_value_with_lines_and_tabs_stays_one_row)
{
	const struct environment_row row = { "variable", "A", "x\ty\nz\x7f", NULL };
	cleanup_free char *text = print(&row, 1);
	cleanup(environment) struct environment *e = environment_parse(text);

	cr_assert(eq(sz, e->count, 1));
	cr_expect_str_eq(e->rows[0].value, "x y z ");
}

Test(environment, lines_that_are_no_rows_are_left_out)
{
	static const char text[] = "python\tPython\t3.11\t\n"
				   "\n"
				   "three\tfields\tonly\n"
				   "one\ttoo\tmany\tof\tthem\n"
				   "\tno kind\t1\t\n"
				   "no name\t\t1\t\n"
				   "cpu\tCPUs\t8\t";
	cleanup(environment) struct environment *e = environment_parse(text);
	cleanup(environment) struct environment *none = environment_parse(NULL);

	cr_assert(eq(sz, e->count, 2));
	cr_expect_str_eq(e->rows[1].name, "CPUs");
	cr_expect(eq(sz, none->count, 0));
}

Test(environment, rows_beyond_the_most_are_left_out)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (int i = 0; i < 2 * ENVIRONMENT_ROWS; i++)
		fputs("a\tb\tc\td\n", out);
	fclose(out);
	cleanup(environment) struct environment *e = environment_parse(text);
	free(text);
	cr_expect(eq(sz, e->count, ENVIRONMENT_ROWS));
}
