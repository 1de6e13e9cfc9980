// SPDX-License-Identifier: MIT
#include "sampler/proc/proc_stat.h"

#include "base/clock.h"
#include "tests/support/expect.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

Test(proc_stat, a_name_may_hold_what_separates_the_fields)
{
	static const char text[] =
		"42 (a) (b c) S 7 1 1 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 3 0 100 5000 60 "
		"18446744073709551615 1 2 140000 0 0";
	struct proc_stat stat;

	cr_assert(proc_stat_parse(text, &stat));
	cr_expect(eq(str, stat.name, "a) (b c"));
	cr_expect(eq(chr, stat.state, 'S'));
	cr_expect(eq(u32, stat.parent_pid, 7));
	cr_expect(eq(u32, stat.threads, 3));
	cr_expect(eq(u64, stat.faults, 1 + 2 + 3 + 4));
	cr_expect(eq(u64, stat.image, 140000));
	cr_expect(eq(int, stat.cpu, -1), "the text ends before");
}

Test(proc_stat, the_cpu_that_it_ran_on_last)
{
	static const char text[] =
		"42 (a) S 7 1 1 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 3 0 100 5000 60 "
		"18446744073709551615 1 2 140000 0 0 0 0 0 0 0 0 0 17 5 0 0";
	struct proc_stat stat;

	cr_assert(proc_stat_parse(text, &stat));
	cr_expect(eq(int, stat.cpu, 5));
}

Test(proc_stat, texts_of_another_form_are_refused)
{
	static const char *const texts[] = { "",           "1",      "1 (x",    "1 )x(",
		                             "1 (x)",      "1 (x) ", "1 (x) S", "1 (x) S 2 3 y",
		                             "1 (x) 7 7 7" };
	struct proc_stat stat;
	uint64_t run, wait;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		cr_expect(not(proc_stat_parse(texts[i], &stat)), "\"%s\"", texts[i]);
	cr_expect(not(proc_stat_times_parse("", &run, &wait)));
	cr_expect(not(proc_stat_times_parse("12", &run, &wait)));
	cr_expect(proc_stat_times_parse("12 34 5\n", &run, &wait));
	cr_expect(eq(u64, run, 12));
	cr_expect(eq(u64, wait, 34));
}

Test(proc_stat, we_ourselves_are_there_and_run)
{
	struct proc_stat stat;
	uint64_t run, wait;
	uint32_t pid = (uint32_t)getpid();
	volatile unsigned sink = 0;

	for (unsigned i = 0; i < 50000000; i++)
		sink += i;
	cr_assert(proc_stat_read(pid, &stat));
	cr_expect(eq(chr, stat.state, 'R'));
	cr_expect(eq(u32, stat.parent_pid, (uint32_t)getppid()));
	cr_expect(ne(u64, stat.image, 0));
	cr_expect(le(u64, stat.start_ns, clock_now_ns()));
	cr_assert(proc_stat_times(pid, pid, &run, &wait));
	cr_expect(gt(u64, run, 0));
}

static void note(void *context, uint32_t id)
{
	uint32_t *wanted = context;

	if (id == *wanted)
		*wanted = 0;
}

Test(proc_stat, threads_and_children_are_listed)
{
	uint32_t self = (uint32_t)getpid(), wanted = self;
	pid_t child = fork();

	if (child == 0) {
		pause();
		_exit(0);
	}
	proc_stat_threads(self, note, &wanted);
	cr_expect(eq(u32, wanted, 0), "our thread");
	wanted = (uint32_t)child;
	proc_stat_children(self, self, note, &wanted);
	cr_expect(eq(u32, wanted, 0), "our child");
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}
