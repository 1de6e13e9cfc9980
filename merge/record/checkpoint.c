// SPDX-License-Identifier: MIT
#include "merge/record/checkpoint.h"

#include "base/clock.h"
#include "merge/profile/profile.h"

#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define INTERVAL_NS (5 * NS_PER_SEC)
#define LEFT_OUT    2  /* a writer's exit status */
#define REST_FACTOR 50 /* the time between two writers against that of one */

void checkpoint_init(struct checkpoint *c, const char *path, uint64_t now_ns)
{
	memset(c, 0, sizeof(*c));
	c->path = path;
	c->next_ns = now_ns + INTERVAL_NS;
}

// A run that began after this one has left its profile there, which counts as the last one.
static bool is_newer_there(const char *path, const struct run *run)
{
	cleanup(profile) struct profile *there = profile_read_run(path, NULL);

	return there && profile_run(there)->start_realtime_ns > run->start_realtime_ns;
}

static void write_and_exit(struct profile *profile, const struct run *run, const char *path)
{
	// It must not compete with the program for a CPU.
	setpriority(PRIO_PROCESS, 0, 10);
	if (is_newer_there(path, run))
		_exit(LEFT_OUT);
	// Nor make the program's own files wait for the disk.
	bool written = profile_set_run(profile, run, NULL) == 0 &&
	               profile_write_unsynced(profile, path, NULL) == 0;
	_exit(written ? 0 : 1);
}

void checkpoint_maybe(struct checkpoint *c, struct profile *profile, const struct run *run,
                      uint64_t now_ns)
{
	if (!c->path || c->writer || now_ns < c->next_ns)
		return;
	c->writer = fork();
	if (c->writer == 0)
		write_and_exit(profile, run, c->path);
	if (c->writer < 0) { // no more processes: the program needs them more
		c->writer = 0;
		c->failed++;
	}
	c->started_ns = now_ns;
	c->next_ns = now_ns + INTERVAL_NS;
}

void checkpoint_reap(struct checkpoint *c, bool wait)
{
	struct rusage usage;
	int status;

	if (!c->writer || wait4(c->writer, &status, wait ? 0 : WNOHANG, &usage) != c->writer)
		return;
	uint64_t now_ns = clock_now_ns();
	uint64_t took_ns = now_ns - c->started_ns;
	c->writer = 0;
	c->cpu_ns += (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * NS_PER_SEC +
	             (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * NS_PER_US;
	if (status == 0)
		c->written++;
	else if (!WIFEXITED(status) || WEXITSTATUS(status) != LEFT_OUT)
		c->failed++;
	if (took_ns * REST_FACTOR > INTERVAL_NS)
		c->next_ns = now_ns + took_ns * REST_FACTOR;
}

int checkpoint_timeout_ms(const struct checkpoint *c, uint64_t now_ns, int limit_ms)
{
	if (!c->path || c->writer)
		return limit_ms;
	uint64_t left_ms = c->next_ns > now_ns ? (c->next_ns - now_ns) / NS_PER_MS + 1 : 0;
	return left_ms < (uint64_t)limit_ms ? (int)left_ms : limit_ms;
}
