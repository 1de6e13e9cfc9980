// SPDX-License-Identifier: MIT
#include "symbolize/loop/loop_fact.h"

#include "tests/support/expect.h"

#include <string.h>

Test(loop_fact, what_is_printed_is_parsed)
{
	for (int kind = LOOP_NONE + 1; kind < LOOP_KINDS; kind++) {
		const struct loop_fact fact = {
			(enum loop_kind)kind, 8192, 1, 20, "/a b/c.c", false
		};
		struct loop_fact parsed;
		char text[100];
		cr_assert(loop_fact_print(&fact, text, sizeof(text)));
		cr_assert(loop_fact_parse(text, &parsed), "%s", text);
		cr_expect(eq(int, parsed.kind, kind));
		cr_expect(eq(u64, parsed.bytes, 8192));
		cr_expect(eq(u32, parsed.detail, 1));
		cr_expect(eq(u32, parsed.line, 20));
		cr_expect(eq(str, (char *)parsed.file, "/a b/c.c"));
	}
}

// A stride that registers held is kept as such, and is no other detail.
Test(loop_fact, what_was_measured_stays_so)
{
	for (int measured = 0; measured < 2; measured++) {
		const struct loop_fact fact = { .kind = LOOP_STRIDE,
			                        .bytes = 4096,
			                        .detail = ACCESS_STORE,
			                        .measured = measured };
		struct loop_fact parsed;
		char text[100];
		cr_assert(loop_fact_print(&fact, text, sizeof(text)));
		cr_assert(loop_fact_parse(text, &parsed), "%s", text);
		cr_expect(eq(u32, parsed.detail, ACCESS_STORE));
		cr_expect_eq(parsed.measured, measured);
	}
}

Test(loop_fact, a_loop_without_a_line)
{
	struct loop_fact fact = { .kind = LOOP_SUM };
	char text[100];

	cr_assert(loop_fact_print(&fact, text, sizeof(text)));
	cr_expect(eq(str, text, "sum 0 0 0 "));
	cr_assert(loop_fact_parse(text, &fact));
	cr_expect_null(fact.file);
}

Test(loop_fact, what_does_not_fit_is_not_printed)
{
	const struct loop_fact fact = { .kind = LOOP_SUM, .file = "file.c" };
	const struct loop_fact none = { .kind = LOOP_NONE };
	char text[12];

	cr_expect(not(loop_fact_print(&fact, text, sizeof(text))));
	cr_expect(not(loop_fact_print(&none, text, sizeof(text))));
}

Test(loop_fact, damaged_texts_are_no_facts)
{
	static const char *const texts[] = { NULL,
		                             "",
		                             "sum",
		                             "sum ",
		                             "sum 1 2 3",
		                             "sum 1 2 ",
		                             "sum -1 2 3 a.c",
		                             "sum 1 4294967296 3 a.c",
		                             "sum 1 2 2147483648 a.c",
		                             "sum 9223372036854775808 2 3 a.c",
		                             "sums 1 2 3 a.c",
		                             "su 1 2 3 a.c",
		                             " 1 2 3 a.c",
		                             "none 1 2 3 a.c",
		                             "sum  1 2 3 a.c" };
	struct loop_fact fact;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		cr_expect(not(loop_fact_parse(texts[i], &fact)), "%s",
		          texts[i] ? texts[i] : "NULL");
}
