// SPDX-License-Identifier: MIT
#include "sampler/unwind/read_risk.h"

#include "base/cleanup.h"
#include "base/clock.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define LOOK_NS (10 * NS_PER_MS)

// "0.52 0.58 0.59 3/467 31415": three that want a CPU, of 467.
bool read_risk_parse(const char *text, uint32_t *runnable)
{
	unsigned some, all;

	if (sscanf(text, "%*f %*f %*f %9u/%9u", &some, &all) != 2)
		return false;
	*runnable = some;
	return true;
}

// Unknown is no crowd.
static uint32_t count_runnable(void)
{
	char text[128];
	uint32_t runnable = 0;
	cleanup_close int fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
	ssize_t length = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;

	if (length <= 0)
		return 0;
	text[length] = '\0';
	return read_risk_parse(text, &runnable) ? runnable : 0;
}

bool read_risk_is_high(struct read_risk *r, uint32_t threads, uint64_t now_ns)
{
	if (!r->crowd)
		r->crowd = READ_RISK_TASKS * (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
	if (now_ns < r->until_ns)
		return true;
	if (threads < r->crowd)
		return false;
	if (!r->looked_ns || now_ns - r->looked_ns > LOOK_NS) {
		r->looked_ns = now_ns;
		r->runnable = count_runnable();
	}
	return r->runnable >= r->crowd;
}

void read_risk_took(struct read_risk *r, uint64_t took_ns, uint64_t now_ns)
{
	uint64_t pause_ns = took_ns * READ_RISK_PAUSE;

	if (took_ns < READ_RISK_SLOW_NS)
		return;
	r->until_ns = now_ns + (pause_ns < READ_RISK_MAX_NS ? pause_ns : READ_RISK_MAX_NS);
}
