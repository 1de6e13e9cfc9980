// SPDX-License-Identifier: MIT
#include "tests/support/expect.h"
#include "tracer/agent/trace/pattern.h"

#include <stdio.h>
#include <string.h>

static struct patterns patterns;

// What the first pattern of TEXT that SYMBOL of PATH matches makes of its name; "-" if none does.
static const char *match(const char *text, const char *path, const char *symbol)
{
	static char said[PATTERN_NAME_BYTES + 16];
	char name[PATTERN_NAME_BYTES];

	cr_assert(patterns_parse(&patterns, text));
	int found = patterns_match(&patterns, path, symbol, name);
	if (found < 0)
		return "-";
	snprintf(said, sizeof(said), "%d %s", found, name);
	return said;
}

Test(pattern, globs)
{
	static const struct {
		const char *glob, *text;
		bool matches;
	} rows[] = {
		{ "solve", "solve", true },
		{ "solve", "solver", false },
		{ "solve*", "solver", true },
		{ "*", "", true },
		{ "", "", true },
		{ "", "a", false },
		{ "a*b*c", "aXbYbZc", true },
		{ "a*b*c", "aXbYbZ", false },
		{ "?", "a", true },
		{ "?", "", false },
		{ "[ab]c", "bc", true },
		{ "[ab]c", "cc", false },
		{ "[!ab]c", "cc", true },
		{ "[^ab]c", "ac", false },
		{ "[a-f]*", "enter", true },
		{ "[a-f]*", "leave", false },
		{ "[]]", "]", true },
		{ "[", "[", true },
		{ "x[", "x[", true },
		{ "***", "anything", true },
		{ "operator[[]]", "operator[]", true },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect(eq(int, pattern_glob(rows[i].glob, rows[i].text), rows[i].matches),
		          "%s %s", rows[i].glob, rows[i].text);
}

Test(pattern, names_as_linkers_and_as_people_write_them)
{
	static const struct {
		const char *patterns, *path, *symbol, *found;
	} rows[] = {
		{ "solve", "/bin/app", "solve", "0 solve" },
		{ "other\nsolve*", "/bin/app", "solve_all", "1 solve_all" },
		{ "ns::Foo::bar", "/bin/app", "_ZN2ns3Foo3barEi", "0 ns::Foo::bar(int)" },
		{ "ns::Foo::bar(int)", "/bin/app", "_ZN2ns3Foo3barEi", "0 ns::Foo::bar(int)" },
		{ "ns::Foo::bar(long)", "/bin/app", "_ZN2ns3Foo3barEi", "-" },
		{ "ns::*", "/bin/app", "_ZN2ns3Foo3barEi", "0 ns::Foo::bar(int)" },
		{ "Foo", "/bin/app", "_ZN2ns3Foo3barEi", "-" },
		{ "_ZN2ns3Foo3barEi", "/bin/app", "_ZN2ns3Foo3barEi", "0 ns::Foo::bar(int)" },
		{ "ns::Foo::Foo", "/bin/app", "_ZN2ns3FooC1Ev", "0 ns::Foo::Foo()" },
		{ "ns::Foo::~Foo", "/bin/app", "_ZN2ns3FooD2Ev", "0 ns::Foo::~Foo()" },
		{ "ns::Foo::operator[[]]", "/bin/app", "_ZN2ns3FooixEi",
		  "0 ns::Foo::operator[](int)" },
		{ "convert<int>", "/bin/app", "_Z7convertIiET_S0_", "0 int convert<int>(int)" },
		{ "std::sort*", "/bin/app", "_ZSt4sortIPiEvT_S1_",
		  "0 void std::sort<int*>(int*, int*)" },
		{ "core::fmt::write", "/bin/app", "_ZN4core3fmt5write17h01b7d5a5d8f4c1e2E",
		  "0 core::fmt::write" },
		{ "alloc::vec::*", "/bin/app", "_RNvNtC5alloc3vec4push", "0 alloc::vec::push" },
		{ "work", "/bin/app", "work.constprop.0", "0 work" },
		{ "work", "/bin/app", "work.avx2", "0 work" },
		{ "work", "/bin/app", "work.cold", "-" },
		{ "work*", "/bin/app", "work.part.0", "-" },
		{ "libcrypto*:EVP_*", "/usr/lib/libcrypto.so.3", "EVP_Digest", "0 EVP_Digest" },
		{ "libcrypto*:EVP_*", "/usr/lib/libother.so.3", "EVP_Digest", "-" },
		{ "app:ns::Foo::bar", "/bin/app", "_ZN2ns3Foo3barEi", "0 ns::Foo::bar(int)" },
		{ "/bin/*:solve", "/bin/app", "solve", "0 solve" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect(eq(str, (char *)match(rows[i].patterns, rows[i].path, rows[i].symbol),
		             (char *)rows[i].found),
		          "%s of %s", rows[i].patterns, rows[i].symbol);
}

Test(pattern, libraries_are_asked_for_by_any_pattern)
{
	cr_assert(patterns_parse(&patterns, "libm.so*:sin\nlibc.so*:malloc"));
	cr_expect(patterns_want(&patterns, "/lib/libc.so.6"));
	cr_expect(not(patterns_want(&patterns, "/lib/libz.so.1")));
	cr_assert(patterns_parse(&patterns, "libm.so*:sin\nf"));
	cr_expect(patterns_want(&patterns, "/lib/libz.so.1"));
}

Test(pattern, too_many_and_too_long_are_refused)
{
	char text[PATTERNS_TEXT + 64] = "";

	for (int i = 0; i < PATTERNS_MAX; i++)
		strcat(text, "f\n");
	cr_expect(patterns_parse(&patterns, text));
	strcat(text, "f\n");
	cr_expect(not(patterns_parse(&patterns, text)));
	memset(text, 'x', PATTERNS_TEXT);
	text[PATTERNS_TEXT] = '\0';
	cr_expect(not(patterns_parse(&patterns, text)));
}

Test(pattern, a_name_that_is_too_long_is_cut_and_one_that_cannot_be_read_stays)
{
	char symbol[1200];

	memset(symbol, 'a', sizeof(symbol));
	symbol[1100] = '\0';
	cr_expect(eq(str, (char *)match("a*", "/bin/app", symbol), "-"));
	symbol[1024] = '\0';
	cr_expect(eq(sz, strlen(match("a*", "/bin/app", symbol)), 2 + PATTERN_NAME_BYTES - 1));
	cr_expect(eq(str, (char *)match("_Z*", "/bin/app", "_Zwhat"), "0 _Zwhat"));
}
