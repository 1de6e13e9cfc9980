// SPDX-License-Identifier: MIT
#include "merge/table/clocks.h"
#include "tests/support/expect.h"

#include <string.h>

#define MS UINT64_C(1000000)

Test(clocks, readings_become_a_text_and_readings_again)
{
	struct clocks c = { 0 }, again;
	char text[CLOCKS_TEXT];

	clocks_print(&c, text);
	cr_expect(eq(str, text, ""));
	clocks_add(&c, 0, 1400);
	clocks_add(&c, 20 * MS + 7, 2800);
	clocks_print(&c, text);
	cr_expect(eq(str, text, "0:1400 20:2800"));
	cr_assert(clocks_parse(&again, text));
	cr_assert(eq(u32, again.count, 2));
	cr_expect(eq(u32, again.readings[1].at_ms, 20));
	cr_expect(eq(u32, again.readings[1].mhz, 2800));
}

Test(clocks, what_cannot_be_is_not_kept)
{
	struct clocks c = { 0 };

	clocks_add(&c, 5 * MS, 0);
	clocks_add(&c, 5 * MS, CLOCKS_MHZ + 1);
	clocks_add(&c, UINT64_MAX, 2000);
	cr_expect(eq(u32, c.count, 0));
	clocks_add(&c, 5 * MS, 2000);
	clocks_add(&c, 4 * MS, 1000);
	cr_expect(eq(u32, c.count, 1));
}

Test(clocks, texts_of_another_form_are_refused)
{
	static const char *const texts[] = {
		"x",
		"1",
		"1:",
		":1",
		" 1:2",
		"1:2 ",
		"1:2,",
		"1:2  3:4",
		"1:-2",
		"-1:2",
		"1: 2",
		"1:0",
		"2:9 1:9",
		"1:1000001",
		"1:2 3",
		"4294967296:5",
		"99999999999999999999999:5",
	};
	struct clocks c;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		cr_expect(not(clocks_parse(&c, texts[i])), "\"%s\"", texts[i]);
		cr_expect(eq(u32, c.count, 0), "\"%s\"", texts[i]);
	}
	cr_expect(not(clocks_parse(&c, NULL)));
	cr_expect(clocks_parse(&c, ""));
}

Test(clocks, more_readings_than_are_kept_are_refused)
{
	static char text[CLOCKS_MAX * 8];
	struct clocks c;

	for (int i = 0; i < CLOCKS_MAX; i++)
		strcat(text, i ? " 1:2" : "1:2");
	cr_expect(clocks_parse(&c, text));
	strcat(text, " 1:2");
	cr_expect(not(clocks_parse(&c, text)));
}

Test(clocks, where_there_is_no_room_neighbours_become_one)
{
	struct clocks c = { 0 };
	char text[CLOCKS_TEXT];

	// One half of the time at 1 GHz, the other at 3.
	for (uint64_t i = 0; i < 10000; i++)
		clocks_add(&c, i * 100 * MS, i < 5000 ? 1000 : 3000);
	cr_expect(gt(u32, c.count, CLOCKS_MAX / 4));
	cr_expect(le(u32, c.count, CLOCKS_MAX));
	double mean = clocks_mean(&c, 0, c.count, 1000000);
	cr_expect(lt(dbl, mean, 2020));
	cr_expect(gt(dbl, mean, 1980));
	cr_expect(eq(u32, c.readings[0].mhz, 1000));
	cr_expect(eq(u32, c.readings[c.count - 1].mhz, 3000));
	clocks_print(&c, text);
	cr_expect(clocks_parse(&c, text));
}

Test(clocks, means_stay_right_however_many_there_are)
{
	struct clocks c = { 0 };

	for (uint64_t i = 0; i < 1000000; i++)
		clocks_add(&c, i * 500 * MS, i % 3 ? 3000 : 1500);
	double mean = clocks_mean(&c, 0, c.count, 500000000);
	cr_expect(lt(dbl, mean, 2510));
	cr_expect(gt(dbl, mean, 2490));
}

Test(clocks, the_longest_text_has_room)
{
	struct clocks c = { .count = CLOCKS_MAX };
	char text[CLOCKS_TEXT];

	for (uint32_t i = 0; i < CLOCKS_MAX; i++)
		c.readings[i] = (struct clock_reading){ UINT32_MAX, CLOCKS_MHZ };
	clocks_print(&c, text);
	cr_expect(clocks_parse(&c, text));
	cr_expect(eq(u32, c.count, CLOCKS_MAX));
}

Test(clocks, means_are_by_time)
{
	struct clocks c;

	cr_assert(clocks_parse(&c, "0:1000 300:3000"));
	cr_expect(eq(dbl, clocks_mean(&c, 0, 2, 400), 1500));
	cr_expect(eq(dbl, clocks_mean(&c, 1, 2, 400), 3000));
	cr_expect(eq(dbl, clocks_mean(&c, 1, 2, 300), 3000), "it is known, if for no time");
	cr_expect(eq(dbl, clocks_mean(&c, 1, 1, 300), 0));
	cr_expect(eq(u32, clocks_from(&c, 1), 1));
	cr_expect(eq(u32, clocks_from(&c, 300), 1));
	cr_expect(eq(u32, clocks_from(&c, 301), 2));
}
