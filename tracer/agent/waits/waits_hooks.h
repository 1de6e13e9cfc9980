/* SPDX-License-Identifier: MIT */
/*
 * What the functions in front of libc's have in common.
 *
 * Each calls the very function that the program has called, once, and returns what that returns. If
 * nobody has to wait, and nobody waits, it is left by a jump: so the stack is the program's. The
 * places of libc's fields are those of glibc on x86-64, in all versions since 2.3.
 */
#pragma once

#include "base/record.h"
#include "tracer/agent/waits/waits.h"
#include "tracer/agent/waits/waits_next.h"
#include "tracer/agent/wrap/wrap.h"

#include <errno.h>
#include <stdint.h>

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* The word at OFFSET of OBJECT, which other threads may change. */
static inline WAITS_FAST uint32_t waits_word(const volatile void *object, size_t offset)
{
	return __atomic_load_n((const uint32_t *)((uintptr_t)object + offset), __ATOMIC_RELAXED);
}

/* Whether the agent itself calls, from CALLER. */
bool waits_are_ours(const void *caller) __attribute__((visibility("hidden")));

#define WAITS_CALLER() __builtin_return_address(0)

/* Thread TID as a number of the kernel's, or 0: the owner of a robust mutex may be none. */
static inline uint32_t waits_thread(uint32_t tid)
{
	return tid < UINT32_C(1) << 30 ? tid : 0;
}

/* The condition variable's own mutex is about to be unlocked by a wait; and has been locked again.
 */
void waits_unlock_in_wait(pthread_mutex_t *m) __attribute__((visibility("hidden")));
void waits_lock_in_wait(pthread_mutex_t *m, int result) __attribute__((visibility("hidden")));

/* Where struct pthread has the thread's tid: 0 if that is not where we look. */
uint32_t waits_tid_of(pthread_t thread) __attribute__((visibility("hidden")));

/* wrap_hear_signals() */
void waits_sent(long call, long first, long second, long third)
	__attribute__((visibility("hidden")));

/* Once, before any wait: which fields are where we look for them. */
void waits_find_fields(void) __attribute__((visibility("hidden")));
