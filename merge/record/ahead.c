// SPDX-License-Identifier: MIT
#include "merge/record/ahead.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/kallsyms.h"
#include "merge/profile/profile.h"
#include "symbolize/early.h"

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KERNEL_NS (20 * NS_PER_MS) // a program of that age is worth the kernel's names
#define FIRST_NS  (30 * NS_PER_MS)
#define LAST_NS   (60 * NS_PER_SEC) // between two, of a run of hours
#define BUSY_NS   (100 * NS_PER_MS) // between two looks at least, while no CPU is to spare

void ahead_init(struct ahead *a, struct early *early, struct kallsyms *kernel_names,
                uint64_t now_ns)
{
	*a = (struct ahead){
		.early = early,
		.kernel_names = kernel_names,
		.next_ns = now_ns + (kernel_names ? KERNEL_NS : FIRST_NS),
		.interval_ns = FIRST_NS,
	};
}

// How many tasks of the machine run or wait for a CPU: "0.20 0.18 0.12 1/80 11206". 0 if unknown.
static unsigned int count_running(void)
{
	cleanup_close int fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
	char text[128];

	ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	text[size < 0 ? 0 : size] = '\0';
	const char *at = text;
	for (int i = 0; i < 3 && at; i++) {
		at = strchr(at, ' ');
		at += at != NULL;
	}
	return at ? (unsigned int)strtoul(at, NULL, 10) : 0;
}

// We are one of them, and about to wait.
static bool has_idle_cpu(void)
{
	cpu_set_t allowed;
	unsigned int running = count_running();

	if (!running || sched_getaffinity(0, sizeof(allowed), &allowed) < 0)
		return false;
	unsigned int cpus = (unsigned int)CPU_COUNT(&allowed);
	return cpus > 1 && running <= cpus;
}

void ahead_maybe(struct ahead *a, struct profile *profile, uint64_t now_ns)
{
	if (now_ns < a->next_ns)
		return;
	if (a->kernel_names) {
		kallsyms_start(a->kernel_names);
		a->kernel_names = NULL;
		a->next_ns = now_ns + FIRST_NS;
		return;
	}
	a->next_ns = now_ns + (a->interval_ns / 2 > BUSY_NS ? a->interval_ns / 2 : BUSY_NS);
	if (!a->early || !early_is_idle(a->early) || !has_idle_cpu())
		return;
	profile_ask_early(profile, a->early);
	a->interval_ns = a->interval_ns * 2 < LAST_NS ? a->interval_ns * 2 : LAST_NS;
	a->next_ns = now_ns + a->interval_ns;
}

int ahead_timeout_ms(const struct ahead *a, uint64_t now_ns, int limit_ms)
{
	if (!a->early && !a->kernel_names)
		return limit_ms;
	uint64_t left_ms = a->next_ns > now_ns ? (a->next_ns - now_ns) / NS_PER_MS + 1 : 0;
	return left_ms < (uint64_t)limit_ms ? (int)left_ms : limit_ms;
}

bool ahead_is_idle(const struct ahead *a)
{
	return !a->early || early_is_idle(a->early);
}
