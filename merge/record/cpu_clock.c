// SPDX-License-Identifier: MIT
#include "merge/record/cpu_clock.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "merge/profile/profile.h"
#include "sampler/proc/proc_stat.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define NS_PER_MS    UINT64_C(1000000)
#define FAILURES_MAX 8   /* then nobody tries again */
#define COST_PART    100 /* readings take one of so many parts of the time */

void cpu_clock_init(struct cpu_clock *c, const char *root, uint32_t pid, uint64_t start_ns)
{
	*c = (struct cpu_clock){ .root = root, .pid = pid, .start_ns = start_ns };
}

uint32_t cpu_clock_read(const char *root, uint32_t cpu)
{
	char path[PATH_MAX], text[32], *end;

	snprintf(path, sizeof(path), "%s/cpu%u/cpufreq/scaling_cur_freq", root, cpu);
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t count = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	if (count <= 0)
		return 0;
	text[count] = '\0';
	if (!isdigit((unsigned char)text[0])) // "<unknown>"
		return 0;
	unsigned long long mhz = strtoull(text, &end, 10) / 1000;
	return (*end && *end != '\n') || mhz > CLOCKS_MHZ ? 0 : (uint32_t)mhz;
}

static uint64_t interval_ns(const struct cpu_clock *c, uint64_t now_ns)
{
	uint64_t run_ns = now_ns > c->start_ns ? now_ns - c->start_ns : 0;

	return run_ns < NS_PER_SEC        ? 20 * NS_PER_MS
	       : run_ns < 10 * NS_PER_SEC ? 100 * NS_PER_MS
	                                  : 500 * NS_PER_MS;
}

static bool read_once(struct cpu_clock *c, uint64_t now_ns)
{
	struct proc_stat stat;

	if (!proc_stat_read(c->pid, &stat) || stat.cpu < 0)
		return false;
	bool runs = stat.state == 'R';
	if (!runs && c->told)
		return false;
	uint32_t mhz = cpu_clock_read(c->root, (uint32_t)stat.cpu);
	c->told |= mhz > 0;
	c->failed += !c->told;
	if (!runs || !mhz)
		return false;
	clocks_add(&c->clocks, now_ns > c->start_ns ? now_ns - c->start_ns : 0, mhz);
	return true;
}

bool cpu_clock_maybe(struct cpu_clock *c, uint64_t now_ns)
{
	if (now_ns < c->next_ns)
		return false;
	bool known = read_once(c, now_ns);
	uint64_t after_ns = clock_now_ns();
	uint64_t cost_ns = after_ns > now_ns ? (after_ns - now_ns) * COST_PART : 0;
	uint64_t wait_ns = interval_ns(c, now_ns);
	c->next_ns = now_ns + (cost_ns > wait_ns ? cost_ns : wait_ns);
	if (c->failed >= FAILURES_MAX)
		c->next_ns = UINT64_MAX;
	return known;
}

int cpu_clock_timeout_ms(const struct cpu_clock *c, uint64_t now_ns, int timeout_ms)
{
	if (c->next_ns == UINT64_MAX)
		return timeout_ms;
	uint64_t left_ms = c->next_ns > now_ns ? (c->next_ns - now_ns) / NS_PER_MS + 1 : 0;

	return left_ms < (uint64_t)timeout_ms ? (int)left_ms : timeout_ms;
}

void cpu_clock_tell(struct cpu_clock *c, struct run *run)
{
	if (!c->clocks.count)
		return;
	clocks_print(&c->clocks, c->text);
	run->cpu_clock = c->text;
}
