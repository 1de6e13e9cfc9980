/* SPDX-License-Identifier: MIT */
/*
 * The loader's locks: forks beside them, and threads of the program that hold them.
 *
 * glibc (2.36 at least) does not reset the lock that dl_iterate_phdr() takes in a forked child, and
 * none at all in one made by _Fork() or a system call. A child that was made while another thread
 * of the program walked over the loaded objects would block for ever at the agent's first walk. So
 * the agent finds these locks, and lets go of those whose owners the child does not have, as newer
 * versions do.
 *
 * The program's callback, or the constructor of a library that it opens, may wait for a mutex of a
 * thread that is in a hook, as Python's callbacks do for its GIL: hooks of functions that take none
 * of these locks wait for them for a moment only (loader_lock_soon()), find what they need from the
 * loader at the start, and walk by the lock for loading where that for the list is taken.
 *
 * Walks by the agent must not add to what a child blocks at: a fork waits until they have ended,
 * and they wait for a fork. All waits are bounded.
 */
#pragma once

#include "tracer/agent/old_glibc.h"

#include "tracer/agent/hold.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* The process is followed: from now on walks may do system calls of their own. */
void loader_start(void);

/*
 * dl_iterate_phdr(), never at the time of a fork. May be nested. The loader's counts (dlpi_adds and
 * dlpi_subs) are sure to be there within loader_lock_soon() and at the start alone.
 */
int loader_each(int (*visit)(struct dl_phdr_info *info, size_t size, void *context), void *context);

/*
 * Both locks, for walks, dlsym() and dlopen() until loader_unlock(). False, and then there is
 * nothing to unlock, if another thread has one: it is waited for, but for a moment of the process's
 * life. Where they are unknown: true.
 */
struct loader_lock {
	pthread_mutex_t *lock; /* NULL: unknown */
	struct hold signals;
};
bool loader_lock_soon(struct loader_lock *held);
void loader_unlock(struct loader_lock *held);

/* Around other functions that take the loader's locks: dlsym(), dlopen(), dladdr(). */
void loader_enter(void);
void loader_leave(void);

/* dlopen(); NULL as well where the C library is an old one, and its part for that is not there. */
static inline void *loader_open(const char *path, int flags)
{
	return dlopen ? dlopen(path, flags) : NULL;
}

/* No waiting any more: its system calls may soon be forbidden. */
void loader_hush(void);

/* Before a fork, and after it in the parent and in the child. */
void loader_before_fork(void);
void loader_after_fork(void);
void loader_fork(void);
