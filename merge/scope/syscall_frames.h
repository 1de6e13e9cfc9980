/* SPDX-License-Identifier: MIT */
/*
 * The C library's own way into the kernel, which says nothing: who waits, waits in read().
 *
 * Since glibc 2.41 every function that can be cancelled takes the same way, so that waits of all
 * kinds would stand in one row:
 *
 *	main  read  __syscall_cancel  __internal_syscall_cancel  __syscall_cancel_arch
 *
 * It is told by these names. Where the library's symbols are not installed, it is what has no name
 * in it, is called in it, and waits, or only calls what does: so is the inside of
 * pthread_mutex_lock() and its like, in any version. For the files of merge/ alone.
 */
#pragma once

#include <stdbool.h>

struct profile;

/* [location - 1]: whether it is part of that. NULL if there is no memory. */
bool *syscall_frames(const struct profile *p);
