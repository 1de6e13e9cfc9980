/* SPDX-License-Identifier: MIT */
/*
 * Code that sets the actions of signals by the system call itself, where no wrapper sees it: Go's
 * runtime, sanitizers, hand-written assembly. SIGTRAP set to its default there would end a process
 * at its next trap, so that one is sampled by timers.
 *
 * Looks at x86-64 code for rt_sigaction's number, loaded into EAX or RAX, and a SYSCALL close
 * behind. Of 2,225 libraries and programs of a Debian, those of Go, the sanitizers and C libraries
 * have that, and no other.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Whether the SIZE bytes of CODE hold such a call. */
bool raw_action_in(const void *code, size_t size);

/*
 * Whether an object that has been loaded since the last call holds one: libc, the loader and what
 * is larger than 1 MB are not looked at. Not for handlers, one caller at a time.
 */
bool raw_action_look(void);
