// SPDX-License-Identifier: MIT
#include "tracer/agent/modes.h"

#include "base/clock.h"

#include <errno.h>
#include <sys/resource.h>
#include <time.h>

// The kernel's names for the clocks of the calling thread, see clock_getcpuclockid(3): of the low
// bits 4 says that it is a thread's, 0 both modes and 1 user mode.
#define CLOCK_BOTH ((clockid_t)(~0u << 3 | 4))
#define CLOCK_USER ((clockid_t)(~0u << 3 | 4 | 1))

static uint64_t read_clock(clockid_t clock)
{
	struct timespec t;

	if (clock_gettime(clock, &t) < 0)
		return 0;
	return (uint64_t)t.tv_sec * NS_PER_SEC + (uint64_t)t.tv_nsec;
}

struct modes modes_now(void)
{
	int error = errno;
	struct modes now = { read_clock(CLOCK_USER), read_clock(CLOCK_BOTH) };

	errno = error;
	return now;
}

uint32_t modes_sleeps(void)
{
	int error = errno;
	struct rusage usage;
	bool known = getrusage(RUSAGE_THREAD, &usage) == 0;

	errno = error;
	return known ? (uint32_t)usage.ru_nvcsw + 1 : 0;
}

uint64_t modes_kernel_ns(struct modes before, struct modes now)
{
	uint64_t user = now.user_ns - before.user_ns;
	uint64_t both = now.both_ns - before.both_ns;

	return both > user ? both - user : 0;
}

// A tick in user code is told at once, one in the kernel on the way out, with all that have come
// after it. Where the kernel takes times at each change of mode, both grow all the time.
bool modes_in_kernel(struct modes before, struct modes now)
{
	return modes_kernel_ns(before, now) > now.user_ns - before.user_ns;
}
