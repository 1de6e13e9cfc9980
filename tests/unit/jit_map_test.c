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

static void check_name(const char *text, const char *function, const char *file, int line)
{
	struct jit_name name = { .text = text, .length = (uint32_t)strlen(text) }, found = { 0 };
	int found_line = -1;
	char buffer[256];

	bool has_file = jit_map_source(&name, &found, &found_line);
	cr_expect(eq(int, has_file, file != NULL), "%s", text);
	snprintf(buffer, sizeof(buffer), "%.*s", (int)name.length, name.text);
	cr_expect(eq(str, buffer, (char *)function), "%s", text);
	cr_expect(eq(int, found_line, line), "%s", text);
	if (!has_file || !file)
		return;
	snprintf(buffer, sizeof(buffer), "%.*s", (int)found.length, found.text);
	cr_expect(eq(str, buffer, (char *)file), "%s", text);
}

Test(jit_map, the_source_is_taken_from_names_that_have_it)
{
	check_name("py::fit:/srv/model.py", "fit", "/srv/model.py", 0);
	check_name("fit /srv/app.js:12:30", "fit", "/srv/app.js", 12);
	check_name("RegExp:a b", "RegExp:a b", NULL, 0);
	check_name("Builtin:ArrayMap", "Builtin:ArrayMap", NULL, 0);
	check_name("x:1:2", "x:1:2", NULL, 0);
	check_name(":1:2", ":1:2", NULL, 0);
	check_name("a /b.js:99999999999:1", "a /b.js:99999999999:1", NULL, 0);
}

Test(jit_map, functions_of_v8_are_named_without_how_they_were_compiled)
{
	check_name("JS:*fit /srv/app.js:12:30", "fit", "/srv/app.js", 12);
	check_name("JS:~fit /srv/app.js:12:30", "fit", "/srv/app.js", 12);
	check_name("JS:^fit /srv/app.js:12:30", "fit", "/srv/app.js", 12);
	check_name("JS:+'fit /srv/app.js:12:30", "fit", "/srv/app.js", 12);
	check_name("LazyCompile:*fit /srv/app.js:12:30", "fit", "/srv/app.js", 12);
	check_name("Script:~ file:///srv/x.mjs:1:1", "(anonymous)", "/srv/x.mjs", 1);
	check_name("JS:* /srv/app.js:11:19", "(anonymous)", "/srv/app.js", 11);
	check_name("JS:*get size /srv/my app/a b.js:3:7", "get size", "/srv/my app/a b.js", 3);
	check_name("JS:~load node:internal/modules/cjs/loader:1604:37", "load",
	           "node:internal/modules/cjs/loader", 1604);
	check_name("JS:*fit webpack:///./src/fit.ts:4:1", "fit", "webpack:///./src/fit.ts", 4);
	// The columns are missing up to Node 18.19.
	check_name("LazyCompile:*fit /srv/app.js:12", "fit", "/srv/app.js", 12);
	check_name("Function:^ file:///srv/my app/x.mjs:3", "(anonymous)", "/srv/my app/x.mjs", 3);
	check_name("LazyCompile:~load node:internal/modules/cjs/loader:1604", "load",
	           "node:internal/modules/cjs/loader", 1604);
	check_name("fit /srv/app.js:12", "fit /srv/app.js:12", NULL, 0);
	// What eval() was given has no file.
	check_name("JS:*evaluated :1:9", "evaluated", NULL, 0);
	check_name("LazyCompile:*evaluated :1", "evaluated", NULL, 0);
	check_name("JS:~", "(anonymous)", NULL, 0);
	check_name("JS:", "JS:", NULL, 0);
	check_name("JS:other", "JS:other", NULL, 0);
	check_name("Function:x", "Function:x", NULL, 0);
}

Test(jit_map, functions_of_php_are_named_as_in_their_source)
{
	check_name("JIT$fib", "fib", NULL, 0);
	check_name("JIT$Cart::total", "Cart::total", NULL, 0);
	check_name("JIT$/srv/index.php", "{main}", "/srv/index.php", 0);
	check_name("TRACE-7$Cart::total$31", "Cart::total", NULL, 0);
	check_name("TRACE-8$/srv/index.php$5", "{main}", "/srv/index.php", 5);
	check_name("TRACE-8$/srv/index.php$99999999999", "{main}", "/srv/index.php", 999999999);
	check_name("JIT$$interrupt_handler", "JIT$$interrupt_handler", NULL, 0);
	check_name("JIT$", "JIT$", NULL, 0);
	check_name("TRACE-8$$5", "TRACE-8$$5", NULL, 0);
	check_name("a$b", "a$b", NULL, 0);
}

Test(jit_map, methods_of_ruby_are_named_as_in_their_source)
{
	check_name("[JIT] Cart#total", "Cart#total", NULL, 0);
	check_name("total@/srv/cart.rb:31", "total", "/srv/cart.rb", 31);
	check_name("block in total@/srv/a b.rb:7", "block in total", "/srv/a b.rb", 7);
	check_name("total@/srv/cart.rb", "total@/srv/cart.rb", NULL, 0);
	check_name("total@/:3", "total@/:3", NULL, 0);
	check_name("@/a:3", "@/a:3", NULL, 0);
	check_name("memcpy@plt:3", "memcpy@plt:3", NULL, 0);
}

Test(jit_map, methods_of_java_are_named_without_what_they_return)
{
	check_name("long demo.Main$Mod.run(int)", "demo.Main$Mod.run(int)", NULL, 0);
	check_name("java.lang.String[] a.B.<init>(java.util.List, int)",
	           "a.B.<init>(java.util.List, int)", NULL, 0);
	check_name("void a.B$$Lambda$14/0x00007efbd8001c00.run()",
	           "a.B$$Lambda$14/0x00007efbd8001c00.run()", NULL, 0);
	check_name("I2C/C2I adapters", "I2C/C2I adapters", NULL, 0);
	check_name("StubRoutines (1)", "StubRoutines (1)", NULL, 0);
	check_name("int ns::fit(int)", "int ns::fit(int)", NULL, 0);
	check_name("int fit(int)", "int fit(int)", NULL, 0);
	check_name("int a.b)", "int a.b)", NULL, 0);
	check_name("int )", "int )", NULL, 0);
}

Test(jit_map, a_name_of_python_without_a_file_keeps_its_function)
{
	struct jit_name name = { .text = "py::<module>:<string>", .length = 21 }, file;
	int line;

	cr_expect(not(jit_map_source(&name, &file, &line)));
	cr_expect(eq(sz, name.length, strlen("<module>")));
}
