/* SPDX-License-Identifier: MIT */
/*
 * No handler of the calling thread runs between the two calls: it may fork, and its child would go
 * on in the middle of what it has interrupted.
 *
 * Signals that an instruction or a system call raises are let through, as the kernel ends a process
 * that blocks one of them. A change of the mask makes the kernel look for signals that wait for the
 * process: both calls leave the main thread its own (precedence.h).
 *
 * For any thread, also in handlers. errno may change.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct hold {
	uint64_t mask; /* what was blocked before */
	bool held;
	bool main;   /* the calling thread is the main thread */
	bool within; /* a long hold */
};

struct hold hold_signals(void);

/* Nothing if HOLD is of no call: {0}. */
void hold_end(struct hold hold);

/*
 * As above, for work that holds signals many times within: there the two calls above cost nothing,
 * where each asks the kernel five times otherwise. Only for code of the agent's that neither forks
 * nor is left but by its end. Not within itself.
 */
struct hold hold_long(void);
void hold_long_end(struct hold hold);

/* What the end of the calling thread's long hold will block, to be changed in the place of its
   mask; NULL: it has no such hold. */
uint64_t *hold_long_mask(void);

/* gettid(), without a system call within a long hold. */
pid_t hold_thread(void);
