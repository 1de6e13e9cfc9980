// SPDX-License-Identifier: MIT
// What the run ran on and with, whatever the format.
#include "tests/unit/fake_profile.h"
#include "tests/unit/made_section.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

TestSuite(sections_environment, .init = made_begin, .fini = made_end);

Test(sections_environment, all_readers_see_all_rows)
{
	struct profile *p = fake_profile();

	p->run.environment = "python\ttorch\t2.1.0\t/site/torch\n"
			     "variable\tOMP_NUM_THREADS\t4\t\n";
	cr_expect_str_eq(made_text(made_section(p, READER_TEXT, section_environment)),
	                 "environment\n"
	                 "python | torch | 2.1.0 | /site/torch\n"
	                 "variable | OMP_NUM_THREADS | 4 | \n");
	cr_expect_str_eq(made_text(made_section(p, READER_JSON, section_environment)),
	                 "python | torch | 2.1.0 | /site/torch\n"
	                 "variable | OMP_NUM_THREADS | 4 | ?\n");
}

Test(sections_environment, a_profile_that_does_not_know_says_so)
{
	struct profile *p = fake_profile();

	p->run.environment = NULL;
	cr_expect_str_eq(made_text(made_section(p, READER_TEXT, section_environment)),
	                 "environment\n"
	                 "> the profile does not say what the run ran on\n");
}
