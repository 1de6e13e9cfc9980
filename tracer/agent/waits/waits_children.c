// SPDX-License-Identifier: MIT
/*
 * Calls that return once a child has ended.
 *
 * Without the kernel's switches nobody else knows when a wait for a child began and ended: children
 * that live for some milliseconds each are gone before anybody has looked. Whoever is cancelled in
 * one of these leaves nothing to be undone.
 */
#include "tracer/agent/waits/waits_hooks.h"

#ifdef __x86_64__

#define CHILD_CALL(name, blocks, parameters, arguments)                                            \
	EXPORT int name parameters                                                                 \
	{                                                                                          \
		struct wait wait;                                                                  \
		const void *caller = WAITS_CALLER(), *next = (const void *)waits_next.name;        \
		if (!(blocks) || waits_are_ours(caller) ||                                         \
		    !waits_call_begin(&wait, HELD_CHILD, next, caller))                            \
			return waits_next.name arguments;                                          \
		int result = waits_next.name arguments;                                            \
		waits_call_end(&wait);                                                             \
		return result;                                                                     \
	}
CHILD_CALL(wait, true, (int *status), (status))
CHILD_CALL(waitpid, !(options & WNOHANG), (pid_t child, int *status, int options),
           (child, status, options))
CHILD_CALL(wait3, !(options & WNOHANG), (int *status, int options, struct rusage *usage),
           (status, options, usage))
CHILD_CALL(wait4, !(options & WNOHANG),
           (pid_t child, int *status, int options, struct rusage *usage),
           (child, status, options, usage))
CHILD_CALL(waitid, !(options & WNOHANG), (idtype_t which, id_t child, siginfo_t *info, int options),
           (which, child, info, options))

#endif
