// SPDX-License-Identifier: MIT
#include "base/schedule.h"

#include "base/error.h"
#include "tests/support/expect.h"

#include <stdio.h>

// The cycle of each of the first 20 steps, "-" where it is active in none.
static const char *cycles_of(const char *text)
{
	static char cycles[64];
	struct schedule s;
	struct error err = { .text = "" };

	cr_assert(eq(int, schedule_parse(&s, text, &err), 0), "%s", err.text);
	for (uint64_t step = 1; step <= 20; step++) {
		uint64_t cycle = schedule_cycle_of(&s, step);
		cycles[step - 1] = cycle ? (char)('0' + cycle) : '-';
	}
	cycles[20] = '\0';
	return cycles;
}

Test(schedule, active_steps_of_each_cycle)
{
	static const struct {
		const char *text, *cycles;
	} rows[] = {
		{ "wait=1,warmup=1,active=3,repeat=2", "--111--222----------" },
		{ "skip_first=4,wait=1,warmup=1,active=3,repeat=2", "------111--222------" },
		{ "active=2", "11223344556677889" }, // and so on
		{ "active=2,repeat=1", "11------------------" },
		{ "wait=3,active=1", "---1---2---3---4---5" },
		{ "repeat=2,active=1,warmup=2,skip_first=1", "---1--2-------------" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char shown[64];
		snprintf(shown, sizeof(shown), "%.*s", (int)strlen(rows[i].cycles),
		         cycles_of(rows[i].text));
		cr_expect(eq(str, shown, (char *)rows[i].cycles), "%s", rows[i].text);
	}
}

Test(schedule, says_what_is_wrong)
{
	static const char *const wrong[] = {
		"",
		"active",
		"active=",
		"active=0",
		"active=-1",
		"active=x",
		"active=3x",
		"active=3,",
		",active=3",
		"wait=1",
		"wait=1 active=2",
		"activ=3",
		"active=3,pause=1",
		"active=1000000001",
		"active=99999999999999999999999",
	};
	struct schedule s;
	struct error err;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		err.text[0] = '\0';
		cr_expect(eq(int, schedule_parse(&s, wrong[i], &err), -1), "\"%s\"", wrong[i]);
		cr_expect(ne(chr, err.text[0], '\0'));
	}
}

Test(schedule, cycles_of_a_profile)
{
	const char *text = "3 3 100 250;8 2 400 0";
	struct schedule_cycle cycle;

	cr_assert(schedule_next_cycle(&text, &cycle));
	cr_expect(eq(u64, cycle.first, 3));
	cr_expect(eq(u64, cycle.steps, 3));
	cr_expect(eq(u64, cycle.begin_ns, 100));
	cr_expect(eq(u64, cycle.end_ns, 250));
	cr_assert(schedule_next_cycle(&text, &cycle));
	cr_expect(eq(u64, cycle.first, 8));
	cr_expect(eq(u64, cycle.end_ns, 0));
	cr_expect(not(schedule_next_cycle(&text, &cycle)));
}

// A profile is foreign bytes.
Test(schedule, cycles_that_cannot_be)
{
	static const char *const wrong[] = { "3",           "3 3 100",     "0 3 100 250",
		                             "3 0 100 250", "3 3 250 100", "3 3 100 250x",
		                             "-3 3 1 2",    " 3 3 1 2",    "3  3 1 2" };
	struct schedule_cycle cycle;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		const char *text = wrong[i];
		cr_expect(not(schedule_next_cycle(&text, &cycle)), "\"%s\"", wrong[i]);
	}
}
