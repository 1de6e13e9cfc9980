/* SPDX-License-Identifier: MIT */
/*
 * The C library's own ways into the program and into the kernel, which say
 * nothing: who waits, waits in read(), and work() is what a thread does.
 *
 * Since glibc 2.41 every function that can be cancelled takes the same way, so
 * that waits of all kinds would stand in one row:
 *
 *	main  read  __syscall_cancel  __internal_syscall_cancel  __syscall_cancel_arch
 *
 * It is recognized by these names. Where the library's symbols are not
 * installed, it is what has no name in it, is called in it, and waits, or calls
 * little but what does: so is the inside of pthread_mutex_lock() and its like,
 * in any version. A place is judged by where most of its time is, as all calls
 * share that way: close() jumps into it, and a sample may find it between two
 * calls.
 *
 * What calls main() or a thread's function and has no name is no function of
 * the program either: __libc_start_call_main(), start_thread(), clone().
 * For the files of merge/ alone.
 */
#pragma once

#include <stdbool.h>

struct profile;

/*
 * [location - 1]: whether all frames of the location are part of these ways. To
 * be freed by the caller. NULL if there is no memory.
 */
bool *libc_frames(const struct profile *p);
