// SPDX-License-Identifier: MIT
#include "merge/record/cgroup.h"

#include "tests/support/expect.h"
#include "tests/support/temporary.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MS UINT64_C(1000000)

static struct cgroup_mounts mounts;
static struct cgroup_paths paths;
static struct cgroup_chain chain;

static FILE *text_of(const char *text)
{
	FILE *file = fmemopen((char *)text, strlen(text), "r");

	cr_assert(ne(ptr, file, NULL));
	return file;
}

static void parse(const char *mountinfo, const char *cgroup)
{
	FILE *file = text_of(mountinfo);

	cgroup_parse_mounts(file, &mounts);
	fclose(file);
	file = text_of(cgroup);
	cgroup_parse_paths(file, &paths);
	fclose(file);
}

static const char *level(uint32_t index)
{
	static char text[CGROUP_PATH];

	snprintf(text, sizeof(text), "%.*s", (int)chain.lengths[index], chain.directory);
	return text;
}

static const char *name(uint32_t index)
{
	static char text[CGROUP_PATH];

	cgroup_name(&chain, index, text, sizeof(text));
	return text;
}

#define V1                                                                                         \
	"22 27 0:21 / /proc rw,relatime - proc proc rw\n"                                          \
	"32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:9 - cgroup cgroup "              \
	"rw,cpu,cpuacct\n"                                                                         \
	"35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"                        \
	"41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
#define V2 "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"

Test(cgroup, groups_of_version_1_up_to_the_root)
{
	parse(V1, "9:name=systemd:/\n4:memory:/m\n1:cpu,cpuacct:/a/b\n0::/u\n");
	cgroup_find_cpu(&mounts, &paths, "", &chain);
	cr_assert(eq(u32, chain.count, 3));
	cr_expect(not(chain.unified));
	cr_expect_str_eq(level(0), "/sys/fs/cgroup/cpu,cpuacct/a/b");
	cr_expect_str_eq(level(1), "/sys/fs/cgroup/cpu,cpuacct/a");
	cr_expect_str_eq(level(2), "/sys/fs/cgroup/cpu,cpuacct");
	cr_expect_str_eq(name(0), "/a/b");
	cr_expect_str_eq(name(2), "/");
	cgroup_find_memory(&mounts, &paths, "", &chain);
	cr_expect_str_eq(level(0), "/sys/fs/cgroup/memory/m");
}

Test(cgroup, groups_of_version_2)
{
	parse(V2, "0::/user.slice/run-7.scope\n");
	cgroup_find_cpu(&mounts, &paths, "/prefix", &chain);
	cr_assert(eq(u32, chain.count, 3));
	cr_expect(chain.unified);
	cr_expect_str_eq(level(0), "/prefix/sys/fs/cgroup/user.slice/run-7.scope");
	cr_expect_str_eq(level(2), "/prefix/sys/fs/cgroup");
	cgroup_find_memory(&mounts, &paths, "/prefix", &chain);
	cr_expect(eq(u32, chain.count, 3));
}

// With a namespace of its own its group is the root of both; without one only of the mount.
Test(cgroup, in_a_container_the_mount_is_its_own_group)
{
	static const struct {
		const char *mountinfo, *cgroup, *deepest;
		uint32_t count;
	} cases[] = {
		{ "30 23 0:26 / /sys/fs/cgroup ro - cgroup2 cgroup rw\n", "0::/\n",
		  "/sys/fs/cgroup", 1 },
		{ "30 23 0:26 /docker/12 /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n",
		  "3:cpu:/docker/12/within\n", "/sys/fs/cgroup/cpu/within", 2 },
		{ "30 23 0:26 /docker/12 /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n",
		  "3:cpu:/docker/12\n", "/sys/fs/cgroup/cpu", 1 },
		{ "30 23 0:26 /docker/12 /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n",
		  "3:cpu:/docker/123\n", "/sys/fs/cgroup/cpu", 1 },
		{ "30 23 0:26 / /sys/fs/cgroup ro - cgroup2 cgroup rw\n", "0::/../other\n",
		  "/sys/fs/cgroup", 1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		parse(cases[i].mountinfo, cases[i].cgroup);
		cgroup_find_cpu(&mounts, &paths, "", &chain);
		cr_assert(eq(u32, chain.count, cases[i].count), "%zu", i);
		cr_expect_str_eq(level(0), cases[i].deepest);
	}
}

Test(cgroup, mounts_with_blanks_and_fields_without_number)
{
	parse("30 23 0:26 /a\\040b /mnt/c\\040g rw shared:1 master:2 - cgroup2 cgroup2 rw\n",
	      "0::/a b/c d\n");
	cgroup_find_cpu(&mounts, &paths, "", &chain);
	cr_assert(eq(u32, chain.count, 2));
	cr_expect_str_eq(level(0), "/mnt/c g/c d");
}

Test(cgroup, what_is_not_there_is_not_found)
{
	static const char *const texts[][2] = {
		{ "30 23\n", "0::/\n" },
		{ V2, "nothing\n" },
		{ V2, "3:cpu:/\n" },
		{ V2, "0::relative\n" },
		{ "30 23 0:26 / /sys/fs/cgroup rw cgroup2\n", "0::/\n" },
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		parse(texts[i][0], texts[i][1]);
		cgroup_find_cpu(&mounts, &paths, "", &chain);
		cr_expect(eq(u32, chain.count, 0), "%zu", i);
	}
}

Test(cgroup, of_very_deep_groups_the_innermost_ones_count)
{
	char text[400] = "0::";

	for (int i = 0; i < 100; i++)
		strcat(text, "/g");
	parse(V2, text);
	cgroup_find_cpu(&mounts, &paths, "", &chain);
	cr_expect(eq(u32, chain.count, CGROUP_LEVELS));
	cr_expect(eq(sz, chain.lengths[0], strlen(chain.directory)));
}

Test(cgroup, both_versions_of_cpu_stat)
{
	struct cgroup_cpu cpu = { 0 };
	FILE *file = text_of("nr_periods 22\nnr_throttled 21\nthrottled_time 2802331330\n"
	                     "nr_bursts 0\nburst_time 0\n");

	cr_expect(cgroup_parse_cpu_stat(file, &cpu));
	fclose(file);
	cr_expect(eq(u64, cpu.periods, 22));
	cr_expect(eq(u64, cpu.throttled_periods, 21));
	cr_expect(eq(u64, cpu.throttled_ns, 2802331330));
	file = text_of("usage_usec 100\nuser_usec 90\nsystem_usec 10\nnr_periods 3\n"
	               "nr_throttled 2\nthrottled_usec 150\n");
	cr_expect(cgroup_parse_cpu_stat(file, &cpu));
	fclose(file);
	cr_expect(eq(u64, cpu.throttled_ns, 150000));
}

Test(cgroup, quotas)
{
	static const struct {
		const char *text;
		bool known;
		uint64_t quota_us;
	} cases[] = { { "50000 100000\n", true, 50000 },
		      { "max 100000\n", true, 0 },
		      { "max\n", false, 7 },
		      { "50000 0\n", false, 7 },
		      { "0 100000\n", false, 7 },
		      { "-1 100000\n", false, 7 },
		      { "50000x 100000\n", false, 7 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cgroup_cpu cpu = { .quota_us = 7 };
		FILE *file = text_of(cases[i].text);
		cr_expect(eq(int, cgroup_parse_cpu_max(file, &cpu), cases[i].known), "%s",
		          cases[i].text);
		fclose(file);
		cr_expect(eq(u64, cpu.quota_us, cases[i].quota_us), "%s", cases[i].text);
	}
}

Test(cgroup, memory_of_both_versions)
{
	struct cgroup_memory m = { 0 };
	FILE *file = text_of("anon 1000\nfile 5000\nshmem 24\n");

	cr_expect(cgroup_parse_memory_stat(file, &m));
	fclose(file);
	cr_expect(eq(u64, m.held_bytes, 1024));
	file = text_of("cache 5000\nrss 10\ntotal_cache 9000\ntotal_rss 2000\ntotal_shmem 48\n");
	cr_expect(cgroup_parse_memory_stat(file, &m));
	fclose(file);
	cr_expect(eq(u64, m.held_bytes, 2048));
	file = text_of("low 0\nhigh 0\nmax 17\noom 1\noom_kill 1\n");
	cr_expect(cgroup_parse_memory_events(file, &m));
	fclose(file);
	cr_expect(eq(u64, m.limit_hits, 17));
	cr_expect(eq(u64, m.kills, 1));
	file = text_of("some avg10=0.00 avg60=0.00 avg300=0.00 total=1234\n"
	               "full avg10=0.00 avg60=0.00 avg300=0.00 total=99\n");
	cr_expect(cgroup_parse_pressure(file, &m));
	fclose(file);
	cr_expect(eq(u64, m.stalled_ns, 1234000));
}

/*
 * Measured on cgroup v1, periods of 100 ms, 2 CPUs, with the run delay of threads beside it: four
 * threads of which one had a CPU for itself, under 50 ms; one under 50 ms; two under 30 ms, each of
 * which was without a CPU for 1.73 s.
 */
Test(cgroup, throttled_time_by_the_clock)
{
	static const struct {
		uint64_t quota_us, periods, throttled_ms, least_ms, most_ms;
	} cases[] = { { 50000, 21, 2802, 1500, 1575 },
		      { 50000, 20, 953, 950, 955 },
		      { 30000, 21, 3243, 1690, 1770 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct cgroup_cpu limit = { .quota_us = cases[i].quota_us,
			                          .period_us = 100000 };
		uint64_t ms = cgroup_throttled_wall_ns(&limit, cases[i].periods,
		                                       cases[i].throttled_ms * MS, 2) /
		              MS;
		cr_expect(ge(u64, ms, cases[i].least_ms), "%zu", i);
		cr_expect(le(u64, ms, cases[i].most_ms), "%zu", i);
	}
	cr_expect(eq(u64, cgroup_throttled_wall_ns(&(struct cgroup_cpu){ 0 }, 0, 5, 2), 0));
}
