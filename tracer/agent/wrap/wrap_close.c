// SPDX-License-Identifier: MIT
// Programs that close all descriptors, whether they have opened them or not, are to leave ours: to
// them, and to those that ask of each whether it is open, it looks as if ours were not.
#include "tracer/agent/sample/trap.h"
#include "tracer/agent/wrap/wrap.h"

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

static void *next_close, *next_close_range, *next_closefrom, *next_fstat, *next_fstat64;

void wrap_start_close(void)
{
	wrap_next(&next_close, "close");
	wrap_next(&next_close_range, "close_range");
	wrap_next(&next_closefrom, "closefrom");
	wrap_next(&next_fstat, "fstat");
	wrap_next(&next_fstat64, "fstat64");
}

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

static int no_descriptor(int error)
{
	errno = error;
	return -1;
}

static bool is_hidden(int fd)
{
	return __builtin_expect(fd >= 0 && trap_is_ours(fd), 0);
}

EXPORT int fstat(int fd, struct stat *status)
{
	typedef int function(int, struct stat *);
	function *next = (function *)wrap_next(&next_fstat, "fstat");

	return is_hidden(fd) ? no_descriptor(EBADF)
	       : next        ? next(fd, status)
	                     : no_descriptor(ENOSYS);
}

EXPORT int fstat64(int fd, struct stat64 *status)
{
	typedef int function(int, struct stat64 *);
	function *next = (function *)wrap_next(&next_fstat64, "fstat64");

	return is_hidden(fd) ? no_descriptor(EBADF)
	       : next        ? next(fd, status)
	                     : no_descriptor(ENOSYS);
}
