// SPDX-License-Identifier: MIT
#include "cli/report/brief.h"

#include "tests/support/expect.h"

#include <limits.h>
#include <string.h>

static const struct rule lock = { .id = "CPU-LOCK" }, sleeps = { .id = "IO-SLEEP" };

Test(brief, paths_are_relative_to_the_directory_of_the_run)
{
	static const struct {
		const char *label, *file, *directory, *expected;
	} rows[] = {
		{ "within it", "/src/app/a.c", "/src/app", "a.c" },
		{ "below it", "/src/app/lib/./b/../a.c", "/src/app", "lib/a.c" },
		{ "a directory with a slash", "/src/app/a.c", "/src/app/", "a.c" },
		{ "beside it", "/src/app2/a.c", "/src/app", "/src/app2/a.c" },
		{ "above it", "/src/app/../a.c", "/src/app", "/src/a.c" },
		{ "of no directory", "/src/a.c", NULL, "/src/a.c" },
		{ "above the root", "/../a.c", "/src", NULL },
		{ "of another machine", "./malloc/malloc.c", "/nowhere", NULL },
		{ "relative to nothing", "a.c", NULL, NULL },
		{ "no file", "<string>", "/src", NULL },
		{ "nothing", NULL, "/src", NULL },
		{ "empty", "", "/src", NULL },
		{ "what is there", "./status", "/proc/self", "status" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char buffer[PATH_MAX];
		const char *path =
			brief_path(rows[i].file, rows[i].directory, buffer, sizeof(buffer));
		cr_expect(eq(str, (char *)(path ? path : "-"),
		             (char *)(rows[i].expected ? rows[i].expected : "-")),
		          "%s", rows[i].label);
	}
}

Test(brief, a_path_without_room_is_not_known)
{
	char buffer[4];

	cr_expect(eq(ptr, (void *)brief_path("/a/bcde", NULL, buffer, sizeof(buffer)), NULL));
}

Test(brief, the_key_is_of_the_rule_and_the_place_alone)
{
	const struct finding one = { .rule = &lock, .function = "f", .file = "/a/x.c", .line = 3 };
	struct finding other = one;
	uint64_t key = brief_key(&one, "/a");

	other.line = 90;
	other.value = 12;
	other.saving_ns = 1000;
	cr_expect(eq(u64, brief_key(&other, "/a"), key), "neither its line nor its price");
	other.file = "/b/x.c";
	cr_expect(eq(u64, brief_key(&other, "/b"), key), "another checkout");
	cr_expect(ne(u64, brief_key(&other, "/a"), key), "another file");
	other = one;
	other.function = "g";
	cr_expect(ne(u64, brief_key(&other, "/a"), key), "another function");
	other = one;
	other.rule = &sleeps;
	cr_expect(ne(u64, brief_key(&other, "/a"), key), "another rule");
	other = (struct finding){ .rule = &lock };
	cr_expect(ne(u64, brief_key(&other, NULL), key), "no place");
}

// Code hosts keep it: it may never be another one.
Test(brief, the_key_is_the_same_in_each_version)
{
	const struct finding finding = { .rule = &lock, .function = "f", .file = "/a/x.c" };

	cr_expect(eq(u64, brief_key(&finding, "/a"), UINT64_C(0x7d9a1d10546a536f)));
}

Test(brief, a_line_is_one)
{
	char line[12];

	cr_expect(eq(str, (char *)brief_line("a\nb\tc\r", line, sizeof(line)), (char *)"a b c "));
	cr_expect(eq(str, (char *)brief_line("abcdefghijkl", line, sizeof(line)),
	             (char *)"abcdefgh\u2026"));
	cr_expect(eq(str, (char *)brief_line(NULL, line, sizeof(line)), (char *)""));
	brief_line("a\x1b[31mb\xe2\x80\xae", line, sizeof(line));
	cr_expect(eq(ptr, strchr(line, '\x1b'), NULL));
}
