// SPDX-License-Identifier: MIT
#include "merge/record/machine.h"

#include "merge/profile/profile.h"
#include "tests/support/expect.h"

#include <string.h>

#define MS UINT64_C(1000000)

static struct machine parse(const char *text)
{
	FILE *file = fmemopen((char *)text, strlen(text), "r");
	cr_assert(ne(ptr, file, NULL));
	struct machine m = machine_parse(file);

	fclose(file);
	return m;
}

Test(machine, busy_and_stolen_time_of_all_cpus)
{
	struct machine m = parse("cpu  100 20 30 5000 40 5 6 7 100 0\n"
	                         "cpu0 50 10 15 2500 20 2 3 3 50 0\n"
	                         "cpu1 50 10 15 2500 20 3 3 4 50 0\n"
	                         "intr 12345 6 7\nctxt 99\n");
	cr_expect(eq(u32, m.cpus, 2));
	cr_expect(eq(u64, m.busy_ns, (100 + 20 + 30 + 5 + 6) * 10 * MS), "guests are in user time");
	cr_expect(eq(u64, m.steal_ns, 7 * 10 * MS));
}

Test(machine, what_is_not_known_is_not_told)
{
	static const char *const texts[] = { "", "cpu\n", "cpu  1 2 3\ncpu0 1 2 3\n",
		                             "cpufreq 1\n" };
	const struct machine known = { .busy_ns = 5, .cpus = 1 };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct machine m = { 0 };
		struct run run = { 0 };
		if (*texts[i])
			m = parse(texts[i]);
		cr_expect(eq(u32, m.cpus, 0), "%s", texts[i]);
		machine_tell(&m, &known, &run);
		machine_tell(&known, &m, &run);
		cr_expect(eq(u32, run.machine_cpus, 0), "%s", texts[i]);
	}
}

Test(machine, a_run_is_told_the_difference)
{
	const struct machine before = { 100 * MS, 10 * MS, 2 }, now = { 350 * MS, 30 * MS, 2 };
	struct run run = { 0 };

	machine_tell(&before, &now, &run);
	cr_expect(eq(u32, run.machine_cpus, 2));
	cr_expect(eq(u64, run.machine_busy_ns, 250 * MS));
	cr_expect(eq(u64, run.machine_steal_ns, 20 * MS));
}

// Counters of a machine do not run backwards, but those of a container may be reset.
Test(machine, time_that_runs_backwards_is_not_told)
{
	const struct machine before = { 100 * MS, 10 * MS, 2 }, now = { 50 * MS, 30 * MS, 2 };
	struct run run = { 0 };

	machine_tell(&before, &now, &run);
	cr_expect(eq(u32, run.machine_cpus, 0));
}

Test(machine, this_one)
{
	struct machine m = machine_now();

	if (!m.cpus)
		cr_skip_test("/proc/stat is not there");
	cr_expect(gt(u64, m.busy_ns, 0));
}
