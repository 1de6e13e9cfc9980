// SPDX-License-Identifier: MIT
#include "sampler/backlog.h"

#include "tests/support/expect.h"

#define AT(ms) (100 * NS_PER_SEC + (ms)*NS_PER_MS)

Test(backlog, little_is_only_late)
{
	struct backlog b = { 0 };

	cr_expect(!backlog_grows(&b, 0, AT(0)));
	cr_expect(!backlog_grows(&b, 0.2, AT(5000)));
}

Test(backlog, much_that_grows_is_too_much_once_a_second)
{
	struct backlog b = { 0 };

	cr_expect(backlog_grows(&b, 0.3, AT(0)));
	cr_expect(!backlog_grows(&b, 0.9, AT(999)));
	cr_expect(backlog_grows(&b, 0.9, AT(1000)));
	cr_expect(!backlog_grows(&b, 0.8, AT(2000)), "it falls: what was done is enough");
	cr_expect(backlog_grows(&b, 0.8, AT(3000)), "no longer");
	cr_expect(!backlog_grows(&b, 0.1, AT(4000)));
	cr_expect(backlog_grows(&b, 0.5, AT(9000)), "another time");
}
