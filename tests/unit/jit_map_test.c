// SPDX-License-Identifier: MIT
#include "symbolize/jit/jit_map.h"
#include "tests/support/expect.h"

#include <stdio.h>

static const char *find(const char *map, uint64_t address, char buffer[256])
{
	struct bytes bytes = { (const uint8_t *)map, strlen(map) };
	struct jit_name name;

	cr_assert(eq(int, jit_map_find(bytes, &address, 1, &name), 0));
	if (!name.text)
		return "(none)";
	snprintf(buffer, 256, "%.*s", (int)name.length, name.text);
	return buffer;
}

Test(jit_map, a_name_goes_to_the_end_of_the_line)
{
	static const char map[] = "1000 20 LazyCompile:~fit /a/b c.js:12:3\n"
				  "0x2000 0x10 hex with prefix\n"
				  "ABCDEF00 ff upper\n";
	static const struct {
		uint64_t address;
		const char *name;
	} rows[] = {
		{ 0xfff, "(none)" },
		{ 0x1000, "LazyCompile:~fit /a/b c.js:12:3" },
		{ 0x101f, "LazyCompile:~fit /a/b c.js:12:3" },
		{ 0x1020, "(none)" },
		{ 0x2001, "hex with prefix" },
		{ 0xabcdef01, "upper" },
	};
	char buffer[256];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect(eq(str, (char *)find(map, rows[i].address, buffer), (char *)rows[i].name),
		          "%#lx", rows[i].address);
}

Test(jit_map, code_that_was_replaced_has_its_last_name)
{
	static const char map[] = "1000 100 old\n1020 20 middle\n1030 8 new\n";
	char buffer[256];

	cr_expect(eq(str, (char *)find(map, 0x1010, buffer), "old"));
	cr_expect(eq(str, (char *)find(map, 0x1028, buffer), "middle"));
	cr_expect(eq(str, (char *)find(map, 0x1034, buffer), "new"));
	cr_expect(eq(str, (char *)find(map, 0x1039, buffer), "middle"));
}

Test(jit_map, a_place_that_had_another_name_before_is_marked)
{
	static const char map[] = "1000 10 old\n2000 10 same\n1000 10 new\n2000 10 same\n";
	static const uint64_t addresses[] = { 0x1004, 0x2004, 0x3004 };
	struct jit_name names[3];

	cr_assert(eq(int,
	             jit_map_find((struct bytes){ (const uint8_t *)map, strlen(map) }, addresses, 3,
	                          names),
	             0));
	cr_expect(names[0].reused);
	cr_expect(not(names[1].reused));
	cr_expect(not(names[2].reused), "it has no name at all");
}

Test(jit_map, a_line_that_is_still_being_written_is_not_read)
{
	char buffer[256];

	cr_expect(eq(str, (char *)find("1000 10 whole\n1000 10 hal", 0x1000, buffer), "whole"));
	cr_expect(eq(str, (char *)find("1000 10 hal", 0x1000, buffer), "(none)"));
	cr_expect(eq(str, (char *)find("", 0x1000, buffer), "(none)"));
}

Test(jit_map, lines_that_are_no_entries_are_passed_over)
{
	char buffer[256];

	cr_expect(eq(
		str,
		(char *)find("\n\nrubbish\n1000\n1000 10\n1000 10 \n1000 10 x\n", 0x1000, buffer),
		"x"));
}

Test(jit_map, the_source_is_taken_from_names_that_have_it)
{
	static const struct {
		const char *name, *function, *file;
		int line;
	} rows[] = {
		{ "JS:*fit /srv/app.js:12:30", "JS:*fit", "/srv/app.js", 12 },
		{ "LazyCompile:~ file:///srv/x.mjs:1:1", "LazyCompile:~", "/srv/x.mjs", 1 },
		{ "py::fit:/srv/model.py", "fit", "/srv/model.py", 0 },
		{ "RegExp:a b", NULL, NULL, 0 },
		{ "Builtin:ArrayMap", NULL, NULL, 0 },
		{ "x:1:2", NULL, NULL, 0 },
		{ ":1:2", NULL, NULL, 0 },
		{ "a /b.js:99999999999:1", NULL, NULL, 0 },
		{ "py::<module>:<string>", NULL, NULL, 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct jit_name name = { .text = rows[i].name,
			                 .length = (uint32_t)strlen(rows[i].name) };
		struct jit_name file;
		int line = 0;
		bool found = jit_map_source(&name, &file, &line);
		cr_expect(eq(int, found, rows[i].function != NULL), "%s", rows[i].name);
		if (!found || !rows[i].function)
			continue;
		cr_expect(eq(int, line, rows[i].line), "%s", rows[i].name);
		cr_expect(eq(sz, name.length, strlen(rows[i].function)), "%s", rows[i].name);
		cr_expect(eq(int, strncmp(name.text, rows[i].function, name.length), 0));
		cr_expect(eq(sz, file.length, strlen(rows[i].file)), "%s", rows[i].name);
		cr_expect(eq(int, strncmp(file.text, rows[i].file, file.length), 0));
	}
}
