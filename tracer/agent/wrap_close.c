// SPDX-License-Identifier: MIT
// Programs that close all descriptors, whether they have opened them or not, are to leave ours: to
// them it looks as if those were not open.
#include "tracer/agent/trap.h"
#include "tracer/agent/wrap.h"

#include <errno.h>
#include <limits.h>
#include <unistd.h>

static void *next_close, *next_close_range, *next_closefrom;

EXPORT int close(int fd)
{
	typedef int function(int);

	if (__builtin_expect(fd >= 0 && trap_is_ours(fd), 0)) {
		errno = EBADF;
		return -1;
	}
	return ((function *)wrap_next(&next_close, "close"))(fd);
}

EXPORT int close_range(unsigned first, unsigned last, int flags)
{
	typedef int function(unsigned, unsigned, int);
	function *next = (function *)wrap_next(&next_close_range, "close_range");

	if (!next) {
		errno = ENOSYS;
		return -1;
	}
	while (first <= last && first <= INT_MAX) {
		int ours = trap_next((int)first);
		if (ours < 0 || (unsigned)ours > last)
			break;
		if ((unsigned)ours > first && next(first, (unsigned)ours - 1, flags) < 0)
			return -1;
		if ((unsigned)ours == last)
			return 0;
		first = (unsigned)ours + 1;
	}
	return next(first, last, flags);
}

EXPORT void closefrom(int low)
{
	typedef void function(int);
	function *next = (function *)wrap_next(&next_closefrom, "closefrom");

	low = low > 0 ? low : 0;
	if (trap_next(low) >= 0 && close_range((unsigned)low, UINT_MAX, 0) == 0)
		return;
	if (next)
		next(low);
}
