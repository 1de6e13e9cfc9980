// SPDX-License-Identifier: MIT
#include "merge/record/machine.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "merge/profile/profile.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

struct machine machine_parse(FILE *file)
{
	struct machine m = { 0 };
	char line[512];
	uint64_t user, nice, system, idle, iowait, irq, softirq, steal;
	long hz = sysconf(_SC_CLK_TCK);
	uint64_t tick_ns = hz > 0 ? NS_PER_SEC / (uint64_t)hz : 0;
	bool known = false;

	while (fgets(line, sizeof(line), file)) {
		if (strncmp(line, "cpu", 3) != 0)
			continue;
		m.cpus += line[3] >= '0' && line[3] <= '9';
		if (line[3] != ' ')
			continue;
		known = sscanf(line + 4,
		               "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		               " %" SCNu64 " %" SCNu64 " %" SCNu64,
		               &user, &nice, &system, &idle, &iowait, &irq, &softirq, &steal) == 8;
	}
	if (!known || !tick_ns)
		return (struct machine){ 0 };
	m.busy_ns = (user + nice + system + irq + softirq) * tick_ns;
	m.steal_ns = steal * tick_ns;
	return m;
}

struct machine machine_now(void)
{
	cleanup_fclose FILE *file = fopen("/proc/stat", "re");

	return file ? machine_parse(file) : (struct machine){ 0 };
}

void machine_tell(const struct machine *before, const struct machine *now, struct run *run)
{
	if (!before->cpus || !now->cpus || now->busy_ns < before->busy_ns ||
	    now->steal_ns < before->steal_ns)
		return;
	run->machine_cpus = now->cpus;
	run->machine_busy_ns = now->busy_ns - before->busy_ns;
	run->machine_steal_ns = now->steal_ns - before->steal_ns;
}
