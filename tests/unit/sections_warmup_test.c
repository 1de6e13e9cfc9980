// SPDX-License-Identifier: MIT
// What every format shows of warm-up.
#include "tests/support/expect.h"
#include "tests/unit/fake_profile.h"
#include "tests/unit/fake_units.h"
#include "tests/unit/made_section.h"

#include <string.h>

TestSuite(sections_warmup, .init = made_begin, .fini = made_end);

static const char included[] =
	"warning: this profile includes warm-up\n"
	"> aten::convolution_with_a\u2026nobody_reads_to_its_end ([64, 3, 224, 224] [64, 3, 7, 7]): the "
	"first 3 of 40 calls took 603 ms each, later ones 650 us\n"
	"> load: the first of 12 calls took 122 ms, later ones 2.00 ms each\n"
	"> Extra time during warm-up went to: 59.7 % compilation, 10.0 % page faults (of 1,834 "
	"samples).\n"
	"> Together that is 1.92 s of 3.10 s in ops (61.9 %), over after 2.31 s.\n"
	"> For the steady state alone: bottleneck report --from-steady (or --from 2.310); next time, add "
	"warm-up iterations before what is measured.\n";

Test(sections_warmup, the_terminal_and_the_page_say_the_same)
{
	static const enum reader readers[] = { READER_TEXT, READER_PAGE };
	const struct profile *p = fake_profile_with_warmup(WARMUP_INCLUDED);

	for (size_t i = 0; i < 2; i++) {
		const struct section *s = made_section(p, readers[i], section_warmup);
		cr_expect(s->shown);
		cr_expect_str_eq(made_text(s), included);
	}
}

Test(sections_warmup, a_trend_has_no_remedy)
{
	const char *text = made_text(made_section(fake_profile_with_warmup(WARMUP_SLOWS_DOWN),
	                                          READER_TEXT, section_warmup));

	cr_expect(strstr(text, "note: calls become slower\n") == text, "%s", text);
	cr_expect(strstr(text, "> load: 12 calls, 2.00 ms each in the second half, and still "
	                       "longer at the end\n") != NULL,
	          "%s", text);
	cr_expect(strstr(text, "--from-steady") == NULL, "%s", text);
}

Test(sections_warmup, what_cannot_be_determined_is_said_and_what_is_not_there_is_not)
{
	const struct section *s =
		made_section(fake_profile_with_warmup(WARMUP_NONE), READER_TEXT, section_warmup);

	cr_expect(s->shown);
	cr_expect_str_eq(s->title, "note: cannot determine whether this is warm-up");
	cr_expect_eq(made_section(fake_profile(), READER_TEXT, section_warmup)->shown, false);
}

Test(sections_warmup, programs_get_all_that_was_judged)
{
	cr_expect_str_eq(
		made_text(made_section(fake_profile_with_warmup(WARMUP_INCLUDED), READER_SHEET,
	                               section_all_warmup)),
		"calls | aten::convolution_with_a_very_long_name_that_nobody_reads_to_its_end | "
		"torch | ? | [64, 3, 224, 224] [64, 3, 7, 7] | ? | ? | included | 40 | 3 | "
		"12.4 | 650000 | 1810000000 | 1800000000 | 0 | 2310000000 | no\n"
		"calls | load | nvtx | io | ? | ? | ? | included | 12 | 1 | 60 | 2e+06 | "
		"122000000 | 120000000 | 0 | 150000000 | no\n");
}
