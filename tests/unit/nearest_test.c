// SPDX-License-Identifier: MIT
#include "base/nearest.h"
#include "tests/support/expect.h"

static const char *meant(const char *word)
{
	static const char *const names[] = {
		"top", "to", "report", "run", "frequency", "CPU-LOCK"
	};
	struct nearest n = { .word = word };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		nearest_try(&n, names[i]);
	return n.name ? n.name : "";
}

Test(nearest, a_slip_is_one_letter_too_many_too_few_wrong_or_swapped)
{
	cr_expect_str_eq(meant("topp"), "top");
	cr_expect_str_eq(meant("repot"), "report");
	cr_expect_str_eq(meant("rum"), "run");
	cr_expect_str_eq(meant("reoprt"), "report");
	cr_expect_str_eq(meant("frequncey"), "frequency");
	cr_expect_str_eq(meant("CPU-LOC"), "CPU-LOCK");
}

Test(nearest, the_name_itself_is_nearest)
{
	cr_expect_str_eq(meant("top"), "top");
	cr_expect_str_eq(meant("to"), "to");
}

Test(nearest, another_word_is_no_slip)
{
	cr_expect_str_eq(meant("perl"), "");
	cr_expect_str_eq(meant("x"), "");
	cr_expect_str_eq(meant(""), "");
	cr_expect_str_eq(meant("reportreportreportreportreportreportreport"), "");
}
