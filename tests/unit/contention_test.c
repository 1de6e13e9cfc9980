// SPDX-License-Identifier: MIT
#include "merge/table/contention.h"
#include "tests/support/expect.h"

#include <string.h>

static struct contention c;
static char text[CONTENTION_TEXT];

Test(contention, rows_are_printed_and_read_again)
{
	struct contention again;

	contention_print(&c, text);
	cr_expect_str_eq(text, "");
	contention_add(&c, &(struct contention_row){ 100000, 75000, 150000, 99000, 5 });
	contention_add(&c, &(struct contention_row){ .at_us = 200000, .busy_us = 10000 });
	contention_print(&c, text);
	cr_expect_str_eq(text, "100000:75000:150000:99000:5 200000:0:0:10000:0");
	cr_assert(contention_parse(&again, text));
	cr_expect(eq(u32, again.count, 2));
	cr_expect(eq(u64, again.rows[0].queues_us, 150000));
	cr_expect(eq(u64, again.rows[1].busy_us, 10000));
}

Test(contention, rows_that_do_not_end_later_are_added_to_the_last)
{
	contention_add(&c, &(struct contention_row){ .at_us = 100, .busy_us = 10 });
	contention_add(&c, &(struct contention_row){ .at_us = 100, .busy_us = 7 });
	contention_add(&c, &(struct contention_row){ .at_us = 50, .busy_us = 3 });
	cr_expect(eq(u32, c.count, 1));
	cr_expect(eq(u64, c.rows[0].at_us, 100));
	cr_expect(eq(u64, c.rows[0].busy_us, 20));
}

Test(contention, of_a_long_run_rows_are_put_together_and_lose_nothing)
{
	uint64_t sum = 0;

	for (uint64_t i = 1; i <= 100000; i++)
		contention_add(&c, &(struct contention_row){ .at_us = i * 100000,
		                                             .throttled_us = i % 7,
		                                             .busy_us = 1 });
	cr_expect(ge(u32, c.count, CONTENTION_MAX / 2 - 1));
	cr_expect(le(u32, c.count, CONTENTION_MAX));
	for (uint32_t i = 0; i < c.count; i++)
		sum += c.rows[i].busy_us;
	cr_expect(eq(u64, sum, 100000));
	cr_expect(eq(u64, c.rows[c.count - 1].at_us, UINT64_C(100000) * 100000));
	contention_print(&c, text);
	struct contention again;
	cr_expect(contention_parse(&again, text));
	cr_expect(eq(u32, again.count, c.count));
}

Test(contention, what_is_no_table_is_refused)
{
	static const char *const texts[] = { "1",
		                             "1:2:3:4",
		                             "1:2:3:4:5 ",
		                             "1:2:3:4:5:6",
		                             "-1:2:3:4:5",
		                             "2:0:0:0:0 2:0:0:0:0",
		                             "2:0:0:0:0 1:0:0:0:0",
		                             "1:2:3:4:x",
		                             "99999999999999999999:0:0:0:0",
		                             " 1:2:3:4:5" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		cr_expect(not(contention_parse(&c, texts[i])), "\"%s\"", texts[i]);
		cr_expect(eq(u32, c.count, 0));
	}
	cr_expect(not(contention_parse(&c, NULL)));
}
