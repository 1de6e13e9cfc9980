// SPDX-License-Identifier: MIT
#include "cli/report/source.h"
#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

static const struct source_scope anywhere = { .all = true };
static char path[] = "/tmp/source-test-XXXXXX";

static void write_source(const char *text)
{
	FILE *file = fdopen(mkstemp(path), "w");

	fputs(text, file);
	fclose(file);
}

static void remove_source(void)
{
	unlink(path);
}

TestSuite(source, .fini = remove_source);

Test(source, a_line_comes_without_its_indent)
{
	char line[64];
	bool newer;

	write_source("one\n\t  two = 2;\t\r\nthree");
	cr_assert(source_line(&anywhere, path, 2, NULL, line, sizeof(line), &newer));
	cr_expect(eq(str, line, "two = 2;"));
	cr_assert(source_line(&anywhere, path, 3, NULL, line, sizeof(line), &newer));
	cr_expect(eq(str, line, "three"));
	cr_expect(not(source_line(&anywhere, path, 4, NULL, line, sizeof(line), &newer)));
	cr_expect(not(source_line(&anywhere, path, 0, NULL, line, sizeof(line), &newer)));
}

Test(source, a_long_line_is_cut_and_counted_once)
{
	char line[8];
	bool newer;

	write_source("0123456789012345678901234567890\nnext\n");
	cr_assert(source_line(&anywhere, path, 1, NULL, line, sizeof(line), &newer));
	cr_expect(eq(str, line, "0123456"));
	cr_assert(source_line(&anywhere, path, 2, NULL, line, sizeof(line), &newer));
	cr_expect(eq(str, line, "next"));
}

Test(source, a_relative_path_starts_where_the_program_ran)
{
	char line[64];
	bool newer;

	write_source("here\n");
	struct source_scope there = { .directory = "/tmp", .all = true };
	cr_expect(source_line(&there, path + 5, 1, NULL, line, sizeof(line), &newer));
	cr_expect(not(source_line(&anywhere, path + 5, 1, NULL, line, sizeof(line), &newer)));
}

Test(source, it_is_said_if_the_source_is_newer_than_the_program)
{
	struct utimbuf old = { .actime = 1000, .modtime = 1000 };
	struct utimbuf late = { .actime = time(NULL) + 60, .modtime = time(NULL) + 60 };
	char line[64];
	bool newer = false;

	write_source("here\n");
	utime(path, &late);
	cr_assert(source_line(&anywhere, path, 1, "/proc/self/exe", line, sizeof(line), &newer));
	cr_expect(newer);
	utime(path, &old);
	cr_assert(source_line(&anywhere, path, 1, "/proc/self/exe", line, sizeof(line), &newer));
	cr_expect(not(newer));
}

Test(source, only_regular_files_are_read)
{
	char line[64];
	bool newer;

	write_source("");
	unlink(path);
	cr_assert(eq(int, mkfifo(path, 0600), 0));
	cr_expect(not(source_line(&anywhere, path, 1, NULL, line, sizeof(line), &newer)));
	cr_expect(not(source_line(&anywhere, "/dev/zero", 1, NULL, line, sizeof(line), &newer)));
	cr_expect(not(source_line(&anywhere, "/tmp", 1, NULL, line, sizeof(line), &newer)));
}
