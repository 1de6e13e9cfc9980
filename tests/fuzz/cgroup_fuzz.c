// SPDX-License-Identifier: MIT
// The files of control groups, and what the profile keeps of them.
#include "base/cleanup.h"
#include "merge/query/query_contention.h"
#include "merge/record/cgroup.h"
#include "merge/table/contention.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct cgroup_mounts mounts;
static struct cgroup_paths paths;
static struct cgroup_chain chain;

static void check_chain(void)
{
	char name[64];

	if (chain.count > CGROUP_LEVELS)
		abort();
	for (uint32_t i = 0; i < chain.count; i++) {
		if (chain.lengths[i] > strlen(chain.directory) || chain.lengths[i] < chain.top ||
		    (i && chain.lengths[i] >= chain.lengths[i - 1]))
			abort();
		cgroup_name(&chain, i, name, sizeof(name));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cgroup_cpu cpu = { 0 };
	struct cgroup_memory memory = { 0 };
	struct quota_group groups[QUOTA_GROUPS];
	cleanup_free char *text = malloc(size + 1);
	cleanup_free struct contention *table = malloc(sizeof(*table));

	if (!text || !table || !size)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	cleanup_fclose FILE *file = fmemopen(text, size, "r");
	if (!file)
		return 0;
	cgroup_parse_mounts(file, &mounts);
	rewind(file);
	cgroup_parse_paths(file, &paths);
	cgroup_find_cpu(&mounts, &paths, "", &chain);
	check_chain();
	cgroup_find_memory(&mounts, &paths, "", &chain);
	check_chain();
	rewind(file);
	cgroup_parse_cpu_stat(file, &cpu);
	rewind(file);
	if (cgroup_parse_cpu_max(file, &cpu) && !cpu.period_us)
		abort();
	if (cgroup_throttled_wall_ns(&cpu, cpu.throttled_periods, cpu.throttled_ns, 2) >
	    cpu.throttled_ns + cpu.throttled_ns / 2)
		abort();
	rewind(file);
	cgroup_parse_memory_stat(file, &memory);
	rewind(file);
	cgroup_parse_memory_events(file, &memory);
	rewind(file);
	cgroup_parse_pressure(file, &memory);
	if (query_quota_groups(&(struct run){ .quota_groups = text }, groups) > QUOTA_GROUPS)
		abort();
	if (contention_parse(table, text) && table->count > CONTENTION_MAX)
		abort();
	return 0;
}
