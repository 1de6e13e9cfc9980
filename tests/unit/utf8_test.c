// SPDX-License-Identifier: MIT
#include "tests/support/expect.h"
#include "tracer/agent/utf8.h"

#include <string.h>

Test(utf8, characters_of_every_length)
{
	char buffer[64];

	cr_expect(eq(str,
	             (char *)utf8_from_wide(buffer, sizeof(buffer), L"a\u00e4\u20ac\U0001f600"),
	             "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"));
	cr_expect(eq(str, (char *)utf8_from_wide(buffer, sizeof(buffer), L"\x7f\x80\x7ff\x800"),
	             "\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80"));
	cr_expect(eq(str, (char *)utf8_from_wide(buffer, sizeof(buffer), L"\xffff\x10000\x10ffff"),
	             "\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"));
	cr_expect(eq(str, (char *)utf8_from_wide(buffer, sizeof(buffer), L""), ""));
}

Test(utf8, what_is_no_character_is_replaced)
{
	const wchar_t text[] = { 0xd800, 0xdfff, 0x110000, (wchar_t)0x80000000, (wchar_t)-1, 0 };
	char buffer[64];

	cr_expect(eq(str, (char *)utf8_from_wide(buffer, sizeof(buffer), text),
	             "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"));
}

Test(utf8, a_text_is_cut_between_characters)
{
	char buffer[8];

	for (size_t size = 1; size <= 8; size++) {
		memset(buffer, 'x', sizeof(buffer));
		utf8_from_wide(buffer, size, L"\u20ac\u20ac\u20ac");
		cr_expect(eq(sz, strlen(buffer), (size - 1) / 3 * 3), "%zu bytes", size);
	}
	cr_expect(eq(str, (char *)utf8_from_wide(buffer, 4, L"ab\u20acc"), "ab"),
	          "and nothing comes after the cut");
}

Test(utf8, no_text_is_no_text)
{
	char buffer[4];

	cr_expect(eq(ptr, (void *)utf8_from_wide(buffer, sizeof(buffer), NULL), NULL));
}
