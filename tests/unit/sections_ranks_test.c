// SPDX-License-Identifier: MIT
// What every format shows of ranks.
#include "tests/support/expect.h"
#include "tests/unit/fake_profile.h"
#include "tests/unit/fake_units.h"
#include "tests/unit/made_section.h"

#include <string.h>

TestSuite(sections_ranks, .init = made_begin, .fini = made_end);

// Three ranks, of which the first two have met the others.
static struct profile *profile(void)
{
	static struct rank_row rows[3];
	struct profile *p = fake_profile_of_ranks(3);

	memcpy(rows, p->ranks.rows, sizeof(rows));
	rows[1].host = NULL;
	rows[1].mpi_ns = 0;
	rows[1].step_median_ns = 0;
	rows[0].meetings = rows[1].meetings = MEETINGS_LEAST;
	rows[0].ahead_ns = -5;
	rows[0].residual_ns = 3;
	rows[0].last = 7;
	rows[0].held_ns = MS(500);
	p->ranks.rows = rows;
	p->ranks.meetings = 10;
	p->ranks.held_ns = MS(600);
	p->ranks.worst_count = 1;
	p->ranks.worst[0] = (struct rank_meeting){ "MPI_Allreduce", MS(900), 0, 0, MS(80) };
	return p;
}

Test(sections_ranks, the_rank_that_delays_the_others_comes_first_then_rows_then_places)
{
	const char *text = made_text(made_section(profile(), READER_TEXT, section_ranks));

	cr_expect_str_eq(
		text,
		"ranks: 3 on 2 hosts; all their threads, most busy first\n"
		"> rank 1 on node1 holds the others up: it works 1.71 s longer than the others "
		"(median 690 ms), 1.70 s of that in relax<double>(grid&); the others wait 1.69 s "
		"longer than it does.\n"
		"> at 10 collective operations, the others waited 600 ms for the last to arrive; "
		"rank 1 was last at 7 (500 ms)\n"
		"> steps: rank 1 takes 2.00 times as long as the others (median)\n"
		"1 | node1 | 2600000000 | 2400000000 | 20000000 | 150000000 | 12 | 200000000 | 7 | "
		"500000000 | relax<double>(grid&)\n"
		"0 | ? | 2600000000 | 699000000 | ? | 150000000 | (12) | (0) | 0 | 0 | assemble()\n"
		"2 | node1 | 2600000000 | 698000000 | 1702000000 | 150000000 | 12 | 100000000 | 0 "
		"| 0 | assemble()\n"
		"imbalance by step: the longest average waits for the last to arrive\n"
		"900000000 | 80000000 | 1 | ? | MPI_Allreduce\n"
		"imbalance by function: CPU time, largest and median of the others\n"
		"1 | 1900000000 | 200000000 | relax<double>(grid&)\n");
}

Test(sections_ranks, who_holds_the_others_up_stands_out)
{
	struct profile *p = profile();
	const struct section *s = made_section(p, READER_TEXT, section_ranks);

	cr_expect_eq(s->rows[0].tone, TONE_HOT);
	cr_expect_eq(s->rows[1].tone, TONE_PLAIN);
	cr_expect_eq(s->unit_ns, MS(2600));
	p->ranks.straggles = false;
	s = made_section(p, READER_TEXT, section_ranks);
	cr_expect_eq(s->rows[0].tone, TONE_PLAIN);
	cr_expect(strstr(made_text(s), "> none of them holds the others up\n") != NULL);
}

Test(sections_ranks, of_many_those_between_are_counted)
{
	const struct section *s;

	made_view.top = 5;
	s = made_section(fake_profile_of_ranks(40), READER_TEXT, section_ranks);
	cr_expect_eq(s->row_count, 5);
	cr_expect_eq(s->rows[4].cells[0].count, 39);
	cr_expect_eq(s->left_out, 35);
	cr_expect(section_column(s, "last") == NULL, "ranks that have not met");
	cr_expect(strstr(made_text(s), "> 35 between these are left out: -n 40 shows all\n") !=
	          NULL);
}

Test(sections_ranks, programs_get_all_of_it_in_one_row)
{
	const char *text = made_text(made_section(profile(), READER_JSON, section_ranks_summary));

	cr_expect_str_eq(
		text, "2 | [1 | node1 | 1710000000 | 1690000000 | relax<double>(grid&); ] | 10 | "
		      "600000000 | [MPI_Allreduce | 900000000 | 80000000 | 1 | ?; ] | "
		      "[relax<double>(grid&) | solver | 1 | 1900000000 | 200000000; ] | "
		      "[1 | node1 | ? | 0 | 2600000000 | 2400000000 | 20000000 | 150000000 | 12 | "
		      "200000000 | relax<double>(grid&) | 7 | 500000000 | -5 | 3; "
		      "0 | ? | ? | 0 | 2600000000 | 699000000 | 0 | 150000000 | (12) | (0) | "
		      "assemble() | 0 | 0 | 0 | 0; "
		      "2 | node1 | ? | 0 | 2600000000 | 698000000 | 1702000000 | 150000000 | 12 | "
		      "100000000 | assemble() | 0 | 0 | ? | ?; ]\n");
}

Test(sections_ranks, nothing_is_told_of_a_run_that_is_not_merged)
{
	cr_expect_eq(made_section(fake_profile(), READER_TEXT, section_ranks)->shown, false);
	cr_expect_eq(made_section(fake_profile(), READER_JSON, section_ranks_summary)->row_count,
	             0);
}
