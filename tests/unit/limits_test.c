// SPDX-License-Identifier: MIT
// On directories that look like a machine's: /proc and /sys of a prefix.
#include "merge/record/limits.h"

#include "base/clock.h"
#include "merge/profile/profile.h"
#include "tests/support/expect.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[64];
static struct limits l;

static void begin(void)
{
	strcpy(root, "/tmp/limits_XXXXXX");
	cr_assert(ne(ptr, mkdtemp(root), NULL));
}

static void end(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", root);
	cr_expect(eq(int, system(command), 0));
}

TestSuite(limits, .init = begin, .fini = end);

// The file PATH holds that.
__attribute__((format(printf, 2, 3))) static void say(const char *path, const char *format, ...)
{
	char command[512], name[256];
	va_list args;

	snprintf(name, sizeof(name), "%s/%s", root, path);
	*strrchr(name, '/') = '\0';
	snprintf(command, sizeof(command), "mkdir -p '%s'", name);
	cr_assert(eq(int, system(command), 0));
	snprintf(name, sizeof(name), "%s/%s", root, path);
	FILE *file = fopen(name, "w");
	cr_assert(ne(ptr, file, NULL));
	va_start(args, format);
	vfprintf(file, format, args);
	va_end(args);
	fclose(file);
}

static void say_quota(const char *group, const char *max, unsigned periods, unsigned throttled,
                      unsigned us)
{
	char path[128];

	snprintf(path, sizeof(path), "sys/fs/cgroup%s/cpu.stat", group);
	say(path, "usage_usec 5\nnr_periods %u\nnr_throttled %u\nthrottled_usec %u\n", periods,
	    throttled, us);
	snprintf(path, sizeof(path), "sys/fs/cgroup%s/cpu.max", group);
	say(path, "%s\n", max);
}

static void say_busy(unsigned ticks)
{
	say("proc/stat", "cpu  1 2 3 4 5 6 7 8 9 0\ncpu0 %u 0 0 9 9 0 0 0 0 0\nintr 5\n", ticks);
}

static void set_up(const char *group)
{
	say("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
	say("proc/7/cgroup", "0::%s\n", group);
	say_busy(100);
	limits_init(&l, root, 7, 0);
	CPU_ZERO(&l.cpus);
	CPU_SET(0, &l.cpus);
	l.cpu_count = 2;
}

Test(limits, a_quota_of_version_2_and_one_around_it)
{
	struct run run = { 0 };

	say_quota("/a/b", "50000 100000", 10, 4, 1000);
	say_quota("/a", "30000 100000", 0, 0, 0);
	set_up("/a/b");
	limits_look(&l, 1 * NS_PER_MS);
	say_quota("/a/b", "50000 100000", 20, 9, 751000); // 5 periods, of 2 queues
	say_quota("/a", "30000 100000", 1, 1, 70000);     // one, of one queue
	say_busy(110);
	limits_look(&l, 1001 * NS_PER_MS);
	limits_tell(&l, &run);
	cr_expect_str_eq(run.quota_group, "/a/b");
	cr_expect(eq(u32, run.quota_millicpus, 500), "it took more than the other");
	cr_expect_str_eq(run.quota_groups, "50000 100000 10 5 750000000 375000000 /a/b\n"
	                                   "30000 100000 1 1 70000000 70000000 /a");
	struct contention table;
	cr_assert(contention_parse(&table, run.contention));
	cr_assert(eq(u32, table.count, 2));
	cr_expect(eq(u64, table.rows[1].at_us, 1001000));
	cr_expect(eq(u64, table.rows[1].throttled_us, 445000));
	cr_expect(eq(u64, table.rows[1].queues_us, 820000));
	cr_expect(le(u64, table.rows[1].busy_us, 100000));
	cr_expect(gt(u64, table.rows[1].busy_us, 0));
}

// The kernel counts a throttled period before the time that it takes.
Test(limits, a_period_whose_time_is_not_counted_yet_waits_for_it)
{
	say_quota("/a", "50000 100000", 0, 0, 0);
	set_up("/a");
	limits_look(&l, 1 * NS_PER_MS);
	say_quota("/a", "50000 100000", 1, 1, 0);
	limits_look(&l, 101 * NS_PER_MS);
	cr_expect(eq(u64, l.groups[0].wall_ns, 0));
	say_quota("/a", "50000 100000", 1, 1, 50000);
	limits_look(&l, 201 * NS_PER_MS);
	cr_expect(eq(u64, l.groups[0].wall_ns, 50 * NS_PER_MS));
}

Test(limits, without_a_quota_nothing_is_told)
{
	struct run run = { 0 };

	say_quota("/a", "max 100000", 0, 0, 0);
	set_up("/a");
	limits_look(&l, 1 * NS_PER_MS);
	limits_look(&l, 101 * NS_PER_MS);
	limits_tell(&l, &run);
	cr_expect(eq(u32, run.quota_millicpus, 0));
	cr_expect(eq(ptr, (void *)run.quota_groups, NULL));
	cr_expect(eq(u64, run.memory_limit_bytes, 0));
	cr_expect(eq(u32, limits_quota(root, 7), 0));
}

Test(limits, a_program_that_moves_is_followed)
{
	struct run run = { 0 };

	say_quota("/a", "max 100000", 0, 0, 0);
	say_quota("/b", "20000 100000", 100, 50, 4000000);
	set_up("/a");
	limits_look(&l, 1 * NS_PER_MS);
	say("proc/7/cgroup", "0::/b\n");
	limits_look(&l, 101 * NS_PER_MS);
	say_quota("/b", "20000 100000", 101, 51, 4080000);
	limits_look(&l, 201 * NS_PER_MS);
	limits_tell(&l, &run);
	cr_expect_str_eq(run.quota_groups, "20000 100000 1 1 80000000 80000000 /b");
	cr_expect(eq(u32, limits_quota(root, 7), 200));
}

Test(limits, signs_that_end_a_line_do_not_get_into_the_text)
{
	struct run run = { 0 };

	say_quota("/a\tb", "20000 100000", 1, 0, 0);
	set_up("/a\tb");
	limits_look(&l, 1 * NS_PER_MS);
	limits_look(&l, 101 * NS_PER_MS);
	limits_tell(&l, &run);
	cr_expect_str_eq(run.quota_group, "/a?b");
}

Test(limits, memory_near_a_limit)
{
	struct run run = { 0 };

	say_quota("/m", "max 100000", 0, 0, 0);
	say("sys/fs/cgroup/m/memory.max", "1000000\n");
	say("sys/fs/cgroup/m/memory.current", "990000\n");
	say("sys/fs/cgroup/m/memory.stat", "anon 400000\nfile 500000\nshmem 1000\n");
	say("sys/fs/cgroup/m/memory.events", "max 5\noom_kill 0\n");
	say("sys/fs/cgroup/m/memory.pressure", "some avg10=0 avg60=0 avg300=0 total=100\n");
	set_up("/m");
	limits_look(&l, 1 * NS_PER_MS);
	limits_look(&l, 101 * NS_PER_MS);
	say("sys/fs/cgroup/m/memory.stat", "anon 940000\nfile 5000\nshmem 1000\n");
	say("sys/fs/cgroup/m/memory.events", "max 9\noom_kill 2\n");
	say("sys/fs/cgroup/m/memory.pressure", "some avg10=0 avg60=0 avg300=0 total=30100\n");
	limits_look(&l, 201 * NS_PER_MS);
	limits_tell(&l, &run);
	cr_expect_str_eq(run.memory_group, "/m");
	cr_expect(eq(u64, run.memory_limit_bytes, 1000000));
	cr_expect(eq(u64, run.memory_held_bytes, 941000));
	cr_expect(eq(u64, run.memory_limit_hits, 4));
	cr_expect(eq(u64, run.memory_kills, 2));
	cr_expect(run.memory_knows_stalls);
	struct contention table;
	cr_assert(contention_parse(&table, run.contention));
	cr_expect(eq(u64, table.rows[2].stalled_us, 30000));
}

// Of two that look, one sees threads that share a CPU.
Test(limits, threads_that_are_bound_to_one_cpu)
{
	struct run run = { 0 };

	say_quota("/m", "max 100000", 0, 0, 0);
	set_up("/m");
	CPU_SET(1, &l.cpus);
	for (int tid = 7; tid < 10; tid++) {
		char path[64];
		snprintf(path, sizeof(path), "proc/7/task/%d/status", tid);
		say(path, "Name:\ta\nState:\t%s\nCpus_allowed_list:\t%s\n",
		    tid == 7 ? "S (sleeping)" : "R (running)", tid == 7 ? "0-1" : "1");
	}
	limits_look(&l, 100 * NS_PER_MS);
	say("proc/7/task/9/status", "Name:\ta\nState:\tS (sleeping)\n");
	limits_look(&l, 250 * NS_PER_MS);
	limits_tell(&l, &run);
	cr_expect(eq(u64, run.bound_ns, 100 * NS_PER_MS));
	cr_expect(eq(u32, run.bound_threads, 2));
	cr_expect(eq(u32, run.bound_cpus, 1));
}

// Only as busy as these: what others do on other CPUs is in nobody's way.
Test(limits, cpus_that_the_program_may_not_use_do_not_count)
{
	static const char text[] = "cpu  9 9 9 9 9 9 9 9 9 9\n"
				   "cpu0 100 10 20 999 999 1 2 3 50 0\n"
				   "cpu1 500 0 0 0 0 0 0 0 0 0\nintr 1\n";
	FILE *file = fmemopen((char *)text, strlen(text), "r");
	uint64_t ns = 0;
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	cr_assert(limits_parse_busy(file, &cpus, &ns));
	fclose(file);
	cr_expect(eq(u64, ns, 136 * NS_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK)));
}

Test(limits, this_machine)
{
	limits_init(&l, "", (uint32_t)getpid(), clock_now_ns());
	cr_expect(limits_maybe(&l, clock_now_ns()));
	cr_expect(not(limits_maybe(&l, clock_now_ns())));
	cr_expect(le(int, limits_timeout_ms(&l, clock_now_ns(), 100000), 100000));
}
