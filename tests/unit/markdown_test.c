// SPDX-License-Identifier: MIT
#include "cli/export/markdown.h"

#include "tests/support/expect.h"

#include <stdlib.h>
#include <string.h>

// What is written of TEXT; there until the next call.
static const char *written(void (*put)(FILE *out, const char *text, size_t bytes), const char *text,
                           size_t bytes)
{
	static char *words;
	size_t size;

	free(words);
	FILE *out = open_memstream(&words, &size);
	put(out, text, bytes);
	fclose(out);
	return words;
}

Test(markdown, prose_makes_no_markup)
{
	static const struct {
		const char *label, *text, *expected;
	} rows[] = {
		{ "words stay", "41 % of wall time (a.c:10)", "41 % of wall time (a.c:10)" },
		{ "emphasis", "*a* _b_ `c` ~d~", "\\*a\\* \\_b\\_ \\`c\\` \\~&#8203;d\\~" },
		{ "HTML", "<img src=x>&amp;", "&#60;img src=x&#62;&#38;&#8203;amp;" },
		{ "a table's cell", "a|b\\|c", "a&#124;b&#92;&#124;c" },
		{ "a link", "[a](b)", "\\[&#8203;a\\](b)" },
		{ "an address", "https://a.b www.c.d", "https:&#8203;//a.b www&#8203;.c.d" },
		{ "people", "@all and a@b.c", "@&#8203;all and a@&#8203;b.c" },
		{ "issues", "#12 !12 GH-12 a/b#1",
		  "#&#8203;12 !&#8203;12 GH-&#8203;12 a/b#&#8203;1" },
		{ "an emoji", "std::fire::x", "std::&#8203;fire::x" },
		{ "ends of lines", "a\n/close\r\n# b\tc", "a /close  # b c" },
		{ "a formula", "$x$", "\\$&#8203;x\\$" },
		{ "nothing", "", "" },
		{ "no text", NULL, "" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect(eq(str, (char *)written(markdown_put_text, rows[i].text, 100),
		             (char *)rows[i].expected),
		          "%s", rows[i].label);
}

Test(markdown, code_keeps_its_names_and_links_nothing)
{
	static const struct {
		const char *label, *text, *expected;
	} rows[] = {
		{ "a name", "parse_row", "<code>parse\\_row</code>" },
		{ "a template", "f<int>", "<code>f&#60;int&#62;</code>" },
		{ "the end of it", "</code><b>", "<code>&#60;/code&#62;&#60;b&#62;</code>" },
		{ "a number", "a #12", "<code>a #12</code>" },
		{ "a version", "memcpy@GLIBC", "<code>memcpy@&#8203;GLIBC</code>" },
		{ "nothing", "", "" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect(eq(str, (char *)written(markdown_put_code, rows[i].text, 100),
		             (char *)rows[i].expected),
		          "%s", rows[i].label);
}

Test(markdown, long_text_is_cut_between_characters)
{
	cr_expect(eq(str, (char *)written(markdown_put_text, "abcdefgh", 6), (char *)"abc\u2026"));
	cr_expect(
		eq(str, (char *)written(markdown_put_text, "ab\u00e9fgh", 6), (char *)"ab\u2026"));
	cr_expect(eq(str, (char *)written(markdown_put_text, "abcdef", 6), (char *)"abcdef"));
}
