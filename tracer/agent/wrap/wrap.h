/* SPDX-License-Identifier: MIT */
/*
 * The functions of libc that the agent stands in front of.
 *
 * Everything forwards to libc, whatever state the agent is in. The library also
 * gets into programs of another libc than glibc, through the environment of
 * their parents; there it must load, and does nothing: so it needs no symbol
 * that musl lacks, other than weakly.
 */
#pragma once

#include "tracer/agent/sample/signals.h"

#include <stdbool.h>
#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))

/* libc's own NAME, looked up once and kept in CACHE. */
void *wrap_next(void **cache, const char *name);

/*
 * Starts the agent. Our constructor does so; those of other libraries may run, and get here by a
 * hook, before it.
 */
void wrap_start(void);

/*
 * Whether a program has loaded us that had its C library before: then we stand in front of nobody,
 * and record once we are called for (PROTOCOL_JOIN).
 */
bool wrap_is_late(void) __attribute__((visibility("hidden")));

/* Before this process lets its parent trace it: see threads_leave_to_tracer(). Keeps errno. */
void wrap_before_traceme(void) __attribute__((visibility("hidden")));

/* Whether wrap_stop() was called here, or where this process has forked from. */
bool wrap_is_stopped(void);

/* Stops it for good, in this process and what comes of it, and says WHY. Not for handlers. */
void wrap_stop(const char *why);

/* libc's own syscall(), found now: the hooks of malloc() call it, and dlsym() calls those. */
void *wrap_find_syscall(void) __attribute__((visibility("hidden")));

/*
 * Find libc's functions at the start. Handlers, children of fork() and vfork(), and threads under
 * locks of their own call them, too: that is no place for dlsym(), which waits for a lock that
 * another thread has, or has had.
 */
void wrap_start_close(void);
void wrap_start_exec(void);
void wrap_start_exit(void);
void wrap_start_seccomp(void);
bool wrap_find_signals(void);

/* late_add() for the ways into a seccomp filter: behind one there is no agent. */
void wrap_add_seccomp(void) __attribute__((visibility("hidden")));

/* Starts signals.h over libc's own functions. False: there are no ticks of this kind to be had. */
bool wrap_start_signals(enum signals_kind kind);

/* The functions that set what is done with signals, one by one; NULL behind the last. */
const char *wrap_signal_names(size_t i);

/* The program is about to send a signal by system call CALL, by number. */
typedef void wrap_signal_sent(long call, long first, long second, long third);

/* HEARD is called then, from now on. */
void wrap_hear_signals(wrap_signal_sent *heard);

/* Copies SIZE bytes that the kernel would find at FROM; false if it would not. */
bool wrap_peek(void *to, const void *from, size_t size);

/*
 * Binds anew what objects refer to that have been loaded since the last look (weak.c): only once
 * those of the start have been looked at. Keeps errno. Not for handlers.
 */
void wrap_look_at_weak(void);
