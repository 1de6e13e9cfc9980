/* SPDX-License-Identifier: MIT */
/*
 * The loader's locks, and forks beside them.
 *
 * glibc (2.36 at least) does not reset the lock that dl_iterate_phdr() takes in a forked child.
 * A child that was forked while another thread walked over the loaded objects blocks for ever at
 * its first walk, dlopen() or exception. Such walks by the program are its own bug; those by the
 * agent must not add to them, so a fork waits until they have ended, and they wait for a fork.
 * All waits are bounded.
 */
#pragma once

#include "tracer/agent/old_glibc.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>

/* The process is followed: from now on walks may do system calls of their own. */
void loader_start(void);

/* dl_iterate_phdr(), never at the time of a fork. May be nested. */
int loader_each(int (*visit)(struct dl_phdr_info *info, size_t size, void *context), void *context);

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
