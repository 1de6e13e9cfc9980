// SPDX-License-Identifier: MIT
#include "base/strings.h"
#include "tests/support/expect.h"

#include <stdio.h>
#include <string.h>

Test(strings, equal_texts_have_one_id_and_do_not_move)
{
	cleanup(strings) struct strings *s = strings_new();
	cr_assert(s != NULL);

	uint32_t first = strings_add(s, "main");
	const char *text = strings_get(s, first);
	for (int i = 0; i < 20000; i++) {
		char name[32];
		snprintf(name, sizeof(name), "function_%d", i);
		cr_assert(ne(u32, strings_add(s, name), 0));
	}
	cr_expect(eq(u32, strings_add(s, "main"), first));
	cr_expect(eq(ptr, (void *)strings_get(s, first), (void *)text));
	cr_expect(eq(u32, strings_count(s), 20001));
}

Test(strings, no_text_is_id_0)
{
	cleanup(strings) struct strings *s = strings_new();

	cr_expect(eq(u32, strings_add(s, NULL), 0));
	cr_expect(eq(ptr, (void *)strings_get(s, 0), NULL));
	cr_expect(eq(ptr, (void *)strings_get(s, 1), NULL));
	cr_expect(eq(u32, strings_add(s, ""), 1));
	cr_expect(eq(str, (char *)strings_get(s, 1), ""));
}

Test(strings, a_text_longer_than_a_block_fits)
{
	cleanup(strings) struct strings *s = strings_new();
	static char huge[200000];

	memset(huge, 'x', sizeof(huge) - 1);
	uint32_t id = strings_add(s, huge);
	cr_expect(eq(str, (char *)strings_get(s, id), huge));
}

Test(strings, what_is_looked_for_is_not_added)
{
	cleanup(strings) struct strings *s = strings_new();
	uint32_t id = strings_add(s, "main");

	cr_expect(eq(u32, strings_find(s, "main"), id));
	cr_expect(eq(u32, strings_find(s, "work"), 0));
	cr_expect(eq(u32, strings_find(s, NULL), 0));
	cr_expect(eq(u32, strings_count(s), 1));
}
