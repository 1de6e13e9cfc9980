// SPDX-License-Identifier: MIT
/*
 * Calls that return once a disk has written.
 *
 * Without the kernel's stacks a wait of a millisecond has no cause: it is over before anybody has
 * looked. Whoever is cancelled in one of these leaves nothing to be undone.
 */
#include "tracer/agent/waits/waits_hooks.h"

#ifdef __x86_64__

#define FILE_CALL(name, parameters, arguments)                                                     \
	EXPORT int name parameters                                                                 \
	{                                                                                          \
		struct wait wait;                                                                  \
		const void *caller = WAITS_CALLER(), *next = (const void *)waits_next.name;        \
		if (waits_are_ours(caller) || !waits_call_begin(&wait, HELD_FILE, next, caller))   \
			return waits_next.name arguments;                                          \
		int result = waits_next.name arguments;                                            \
		waits_call_end(&wait);                                                             \
		return result;                                                                     \
	}
FILE_CALL(fsync, (int fd), (fd))
FILE_CALL(fdatasync, (int fd), (fd))
FILE_CALL(syncfs, (int fd), (fd))
FILE_CALL(sync_file_range, (int fd, off64_t from, off64_t bytes, unsigned flags),
          (fd, from, bytes, flags))
FILE_CALL(msync, (void *address, size_t bytes, int flags), (address, bytes, flags))

#endif
