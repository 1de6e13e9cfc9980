// SPDX-License-Identifier: MIT
#include "merge/record/ahead.h"

#include "base/clock.h"
#include "base/kallsyms.h"
#include "merge/profile/profile.h"
#include "symbolize/early.h"
#include "tests/support/expect.h"

#include <sched.h>

// What ahead.c asks, and who it asks, is the test's.
static int cpus, asked, kernel_read;
static bool idle;
static struct ahead a;
static char thing; // opaque to all here

#define EARLY  ((struct early *)&thing)
#define KERNEL ((struct kallsyms *)&thing)
#define START  (NS_PER_SEC)

bool early_is_idle(struct early *e)
{
	(void)e;
	return idle;
}

void kallsyms_start(struct kallsyms *k)
{
	(void)k;
	kernel_read++;
}

void profile_ask_early(struct profile *p, struct early *early)
{
	(void)p;
	cr_expect(eq(ptr, (void *)early, &thing));
	asked++;
}

int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
	(void)pid;
	CPU_ZERO_S(size, set);
	for (int i = 0; i < cpus; i++)
		CPU_SET_S((size_t)i, size, set);
	return 0;
}

static void begin(void)
{
	cpus = 1024; // more than there are tasks that run
	asked = kernel_read = 0;
	idle = true;
	ahead_init(&a, EARLY, NULL, START);
}

TestSuite(ahead, .init = begin);

Test(ahead, a_short_program_is_left_alone)
{
	ahead_maybe(&a, NULL, START + 29 * NS_PER_MS);
	cr_expect(eq(int, asked, 0));
	ahead_maybe(&a, NULL, START + 30 * NS_PER_MS);
	cr_expect(eq(int, asked, 1));
}

Test(ahead, it_asks_less_and_less_often_but_once_a_minute)
{
	uint64_t now = START, last = START;

	for (int i = 0; i < 20; i++) {
		now = a.next_ns;
		uint64_t gap = now - last;
		ahead_maybe(&a, NULL, now);
		cr_expect(eq(int, asked, i + 1));
		cr_expect(ge(u64, a.next_ns - now, gap));
		cr_expect(le(u64, a.next_ns - now, 60 * NS_PER_SEC));
		last = now;
	}
	cr_expect(gt(u64, a.next_ns - now, 30 * NS_PER_SEC));
}

Test(ahead, with_no_cpu_to_spare_it_waits)
{
	cpus = 1; // we are on it
	ahead_maybe(&a, NULL, START + NS_PER_SEC);
	cr_expect(eq(int, asked, 0));
	cr_expect(eq(u64, a.next_ns, START + NS_PER_SEC + 100 * NS_PER_MS), "and tries again");
	cpus = 1024;
	ahead_maybe(&a, NULL, a.next_ns);
	cr_expect(eq(int, asked, 1));
}

Test(ahead, one_question_at_a_time)
{
	idle = false;
	cr_expect(eq(int, ahead_is_idle(&a), false));
	ahead_maybe(&a, NULL, START + NS_PER_SEC);
	cr_expect(eq(int, asked, 0));
	idle = true;
	cr_expect(eq(int, ahead_is_idle(&a), true));
	ahead_maybe(&a, NULL, a.next_ns);
	cr_expect(eq(int, asked, 1));
}

Test(ahead, the_kernels_names_are_read_once_and_before)
{
	ahead_init(&a, EARLY, KERNEL, START);
	ahead_maybe(&a, NULL, START + 19 * NS_PER_MS);
	cr_expect(eq(int, kernel_read, 0));
	ahead_maybe(&a, NULL, START + 20 * NS_PER_MS);
	cr_expect(eq(int, kernel_read, 1));
	ahead_maybe(&a, NULL, START + 300 * NS_PER_MS);
	cr_expect(eq(int, kernel_read, 1));
	cr_expect(eq(int, asked, 1));
}

Test(ahead, the_collector_sleeps_until_it_is_time)
{
	cr_expect(eq(int, ahead_timeout_ms(&a, START, 1000), 31));
	cr_expect(eq(int, ahead_timeout_ms(&a, START, 20), 20));
	cr_expect(eq(int, ahead_timeout_ms(&a, START + NS_PER_SEC, 1000), 0), "it is time");
	ahead_init(&a, NULL, NULL, START);
	cr_expect(eq(int, ahead_timeout_ms(&a, START + NS_PER_SEC, 1000), 1000), "for ever");
	cr_expect(eq(int, ahead_is_idle(&a), true));
	ahead_maybe(&a, NULL, START + NS_PER_SEC);
	cr_expect(eq(int, asked, 0));
}
