// SPDX-License-Identifier: MIT
#include "sampler/perf/perf_closer.h"

#include "base/cleanup.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436 // before the headers of Linux 5.9
#endif

#define STACK_BYTES 16384

// Of the process: there is one at a time.
static _Alignas(16) char stack[STACK_BYTES];
static pid_t closer; // 0: there is none
static unsigned held, ended;

// What belongs to others, as the streams of the caller, is closed before what takes long. Writes
// nothing to memory that is the caller's but its errno, and that when there is no close_range().
static int hold(void *context)
{
	unsigned low = held < ended ? held : ended, high = held < ended ? ended : held;
	char nothing;

	(void)context;
	if (low > 0)
		syscall(SYS_close_range, 0, low - 1, 0);
	if (high > low + 1)
		syscall(SYS_close_range, low + 1, high - 1, 0);
	syscall(SYS_close_range, high + 1, ~0U, 0);
	syscall(SYS_read, ended, &nothing, 1); // until its other end is closed
	syscall(SYS_exit_group, 0);            // closes the event
	return 0;
}

// An empty range of descriptors that cannot be: is there such a call?
static bool can_close_ranges(void)
{
	return syscall(SYS_close_range, ~0U, ~0U, 0) == 0;
}

void perf_closer_reap(void)
{
	if (closer && waitpid(closer, NULL, __WALL | WNOHANG) != 0)
		closer = 0;
}

int perf_closer_start(int event)
{
	sigset_t all, before;
	int ends[2];

	perf_closer_reap();
	if (closer || !can_close_ranges() || pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	cleanup_close int reader = ends[0];
	cleanup_close int writer = ends[1];
	held = (unsigned)event;
	ended = (unsigned)reader;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	// Without a signal at its end nobody who waits for any child sees it.
	pid_t pid = clone(hold, stack + sizeof(stack), CLONE_VM, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (pid <= 0)
		return -1;
	closer = pid;
	return steal_fd(&writer);
}
