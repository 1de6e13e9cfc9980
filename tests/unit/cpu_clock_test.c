// SPDX-License-Identifier: MIT
#include "merge/record/cpu_clock.h"

#include "base/clock.h"
#include "merge/profile/profile.h"
#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MS UINT64_C(1000000)

static char root[64];

static void begin(void)
{
	strcpy(root, "/tmp/cpu_clock_XXXXXX");
	cr_assert(ne(ptr, mkdtemp(root), NULL));
}

static void end(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", root);
	cr_expect(eq(int, system(command), 0));
}

TestSuite(cpu_clock, .init = begin, .fini = end);

// What the kernel says of CPU; NULL: that it is offline.
static void say(unsigned int cpu, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/cpu%u", root, cpu);
	mkdir(path, 0700);
	if (!text)
		return;
	strcat(path, "/cpufreq");
	mkdir(path, 0700);
	strcat(path, "/scaling_cur_freq");
	FILE *file = fopen(path, "w");
	cr_assert(ne(ptr, file, NULL));
	fputs(text, file);
	fclose(file);
}

static void say_of_all(const char *text)
{
	for (long cpu = sysconf(_SC_NPROCESSORS_CONF) - 1; cpu >= 0; cpu--)
		say((unsigned int)cpu, text);
}

Test(cpu_clock, what_the_kernel_says_is_in_kilohertz)
{
	static const struct {
		const char *text;
		uint32_t mhz;
	} rows[] = {
		{ "1400000\n", 1400 },
		{ "2799999\n", 2799 },
		{ "3200000", 3200 },
		{ NULL, 0 },
		{ "", 0 },
		{ "\n", 0 },
		{ "0\n", 0 },
		{ "<unknown>\n", 0 },
		{ "-1400000\n", 0 },
		{ "14 00000\n", 0 },
		{ "1400000x\n", 0 },
		{ "99999999999\n", 0 },
		{ "99999999999999999999999999999999999999\n", 0 },
	};

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		say(i, rows[i].text);
		cr_expect(eq(u32, cpu_clock_read(root, i), rows[i].mhz), "\"%s\"",
		          rows[i].text ? rows[i].text : "offline");
	}
	cr_expect(eq(u32, cpu_clock_read(root, 1000), 0));
	cr_expect(eq(u32, cpu_clock_read("/nowhere", 0), 0));
}

Test(cpu_clock, readings_of_a_program_that_runs)
{
	struct cpu_clock *c = calloc(1, sizeof(*c));
	struct run run = { 0 };
	struct clocks told;
	uint64_t start_ns = clock_now_ns();

	cr_assert(ne(ptr, c, NULL));
	cpu_clock_init(c, root, (uint32_t)getpid(), start_ns);
	cpu_clock_tell(c, &run);
	cr_expect(eq(ptr, (void *)run.cpu_clock, NULL));
	say_of_all("1400000\n");
	cr_expect(cpu_clock_maybe(c, start_ns));
	cr_expect(not(cpu_clock_maybe(c, start_ns + MS)), "it is too early");
	say_of_all("3200000\n");
	cr_expect(cpu_clock_maybe(c, c->next_ns));
	cpu_clock_tell(c, &run);
	cr_assert(clocks_parse(&told, run.cpu_clock));
	cr_assert(eq(u32, told.count, 2));
	cr_expect(eq(u32, told.readings[0].mhz, 1400));
	cr_expect(eq(u32, told.readings[1].mhz, 3200));
	cr_expect(ge(u32, told.readings[1].at_ms, 20));
	free(c);
}

Test(cpu_clock, where_nothing_can_be_read_nobody_goes_on_trying)
{
	struct cpu_clock *c = calloc(1, sizeof(*c));
	uint64_t now_ns = clock_now_ns();
	int tries = 0;

	cr_assert(ne(ptr, c, NULL));
	cpu_clock_init(c, root, (uint32_t)getpid(), now_ns);
	cr_expect(eq(int, cpu_clock_timeout_ms(c, now_ns, 700), 0), "the first one is due");
	for (; c->next_ns != UINT64_MAX && tries < 1000; tries++)
		cr_expect(not(cpu_clock_maybe(c, c->next_ns ? c->next_ns : now_ns)));
	cr_expect(lt(int, tries, 100));
	cr_expect(eq(int, cpu_clock_timeout_ms(c, now_ns, 700), 700));
	free(c);
}

Test(cpu_clock, of_a_cpu_whose_program_waits_nothing_is_kept)
{
	struct cpu_clock *c = calloc(1, sizeof(*c));
	siginfo_t info;

	cr_assert(ne(ptr, c, NULL));
	say_of_all("1400000\n");
	pid_t child = fork();
	cr_assert(ge(int, child, 0));
	if (!child)
		_exit(0);
	// A zombie waits for good.
	cr_assert(eq(int, waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0));
	cpu_clock_init(c, root, (uint32_t)child, clock_now_ns());
	cr_expect(not(cpu_clock_maybe(c, clock_now_ns())));
	cr_expect(eq(u32, c->clocks.count, 0));
	cr_expect(eq(u32, c->failed, 0));
	waitpid(child, NULL, 0);
	free(c);
}

Test(cpu_clock, readings_that_take_long_are_rare)
{
	struct cpu_clock *c = calloc(1, sizeof(*c));
	uint64_t now_ns = clock_now_ns();

	cr_assert(ne(ptr, c, NULL));
	say_of_all("1400000\n");
	// As if it had begun a second ago and ended now.
	cpu_clock_init(c, root, (uint32_t)getpid(), now_ns - NS_PER_SEC);
	cpu_clock_maybe(c, now_ns - NS_PER_SEC);
	cr_expect(ge(u64, c->next_ns, now_ns + 99 * NS_PER_SEC));
	free(c);
}
