// SPDX-License-Identifier: MIT
#include "base/message.h"
#include "tests/support/expect.h"

#include <string.h>

static const struct {
	struct message message;
	const char *text;
} rows[] = {
	{ { 8192, MESSAGE_TO, 3, 0, 0 }, "8192 B to 3" },
	{ { 64, MESSAGE_FROM, MESSAGE_ANY, 0, 0 }, "64 B from any" },
	{ { 0, MESSAGE_TO, MESSAGE_NOBODY, 0, 0 }, "0 B to nobody" },
	{ { 96, MESSAGE_TO_FROM, 1, 3, 0 }, "96 B to 1 from 3" },
	{ { 8192, MESSAGE_ROOT, 0, 0, 4 }, "8192 B, root 0 of 4" },
	{ { 8, MESSAGE_ALONE, 0, 0, 4 }, "8 B, 4 ranks" },
	{ { UINT64_C(1) << 40, MESSAGE_ALONE, 0, 0, 0 }, "1099511627776 B" },
	{ { MESSAGE_UNKNOWN, MESSAGE_ALONE, 0, 0, 4 }, "4 ranks" },
	{ { 8, MESSAGE_ALONE, 0, 0, 1 }, "8 B, 1 rank" },
	{ { MESSAGE_UNKNOWN, MESSAGE_FROM, 2, 0, 0 }, "from 2" },
	{ { MESSAGE_UNKNOWN, MESSAGE_ROOT, 7, 0, 9 }, "root 7 of 9" },
};

static void expect_same(const struct message *a, const struct message *b, const char *text)
{
	cr_expect(eq(u64, a->bytes, b->bytes), "%s", text);
	cr_expect(eq(int, (int)a->way, (int)b->way), "%s", text);
	cr_expect(eq(u32, a->peer, b->peer), "%s", text);
	cr_expect(eq(u32, a->from, b->from), "%s", text);
	cr_expect(eq(u32, a->ranks, b->ranks), "%s", text);
}

Test(message, words_and_texts_say_what_was_put_in)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t words[MESSAGE_WORDS];
		uint16_t count = message_pack(&rows[i].message, words);
		struct message told, read;
		char text[80];

		cr_assert(message_unpack(words, count, &told), "%s", rows[i].text);
		expect_same(&told, &rows[i].message, rows[i].text);
		message_print(&told, text, sizeof(text));
		cr_expect(eq(str, text, (char *)rows[i].text));
		cr_assert(message_parse(text, &read), "%s", text);
		expect_same(&read, &rows[i].message, text);
	}
}

Test(message, where_nothing_is_known_there_are_no_words)
{
	const struct message nothing = { .bytes = MESSAGE_UNKNOWN };
	uint64_t words[MESSAGE_WORDS];

	cr_expect(eq(u16, message_pack(&nothing, words), 0));
}

Test(message, other_words_are_refused)
{
	const uint64_t words[][5] = { { 8, UINT64_C(9) << 32 },
		                      { 8, UINT64_C(4) << 32, 0, 0 },
		                      { 8, 0, UINT64_C(1) << 40 } };
	struct message m;

	cr_expect(not(message_unpack(words[0], 2, &m)));
	cr_expect(not(message_unpack(words[1], 2, &m)));
	cr_expect(not(message_unpack(words[2], 3, &m)));
	cr_expect(not(message_unpack(words[0], 1, &m)));
	cr_expect(not(message_unpack(words[0], 5, &m)));
}

Test(message, other_texts_are_refused)
{
	const char *texts[] = {
		"",       "[2, 3]",     "8 B to", "8 B to 3 from", "8 B, root 3",      "to -1",
		"4 rank", "8 B to 3 x", "8",      "payload 17",    "99999999999 ranks"
	};
	struct message m;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		cr_expect(not(message_parse(texts[i], &m)), "\"%s\"", texts[i]);
}
