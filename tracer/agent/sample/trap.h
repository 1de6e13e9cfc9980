/* SPDX-License-Identifier: MIT */
/*
 * Perf events that a process opens on itself: each period of CPU time the kernel raises our
 * SIGTRAP (see signals.h) in the thread that ran, where it ran.
 *
 * The descriptors stand above the limit if they can, where programs seldom look, and close() leaves
 * them alone (see wrap_close.c). Children of fork() have none of the ticks; vfork() and exec never
 * do. Under the kernels before 5.18 a SIGTRAP that is blocked would end the process: there are no
 * traps there.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * From now on thread TID (0: the calling one) and all that it and they will make are ticked every
 * PERIOD_NS; USER_ONLY: or the kernel refuses the rest, while they run user code. False: there are
 * no traps to be had.
 */
bool trap_start(uint32_t tid, uint64_t period_ns, bool user_only);

/* Ends all of them, or in a child of fork() lets go of the parent's. */
void trap_stop(void);

/* No ticks until they are to go on. Keep errno. */
void trap_pause(void);
void trap_resume(void);

/* Whether ticks in the kernel are reported, too: on the way back to user code. */
bool trap_sees_kernel(void);

/* False if the program has got at the descriptors, and so there are no ticks any more. */
bool trap_is_alive(void);

/* Whether FD is a descriptor of ours; the first that is at or above FD, or -1. For anybody. */
bool trap_is_ours(int fd);
int trap_next(int fd);
