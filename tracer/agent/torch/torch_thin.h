/* SPDX-License-Identifier: MIT */
/*
 * Which ops of PyTorch are recorded where recording all of them would take too much of the
 * program's time.
 *
 *	all ──► gap ──► window ──► gap ──► window …     each by a number of ops, never by time
 *
 * In a window every op is recorded. In a gap PyTorch calls only the scout, at one of
 * OP_SCOUT_OPS ops at random (its own sampling of callbacks), so that the others cost nothing;
 * after so many calls of the scout the next window opens, for OP_WINDOW_OPS.
 *
 * What a window opens within is not known. Its first ops, which may be parts of others, are left
 * out until one is certainly not: Python has called it from elsewhere, or it lies no further in on
 * the stack than any before. It closes in the same way: what may be part of its last op belongs to
 * it. So of all places where a window may begin, OP_WINDOW_OPS have an op in it, the same for every
 * op whatever it is and does; and sums over what is recorded, each op by its weight, estimate the
 * sums over all without bias.
 *
 * The first TORCH_ALL_FIRST are always recorded. All again are where they have become few enough.
 * For any thread at once; nothing is waited for.
 */
#pragma once

#include "base/record.h"

#include <stdbool.h>
#include <stdint.h>

#define TORCH_ALL_FIRST 32768
#define TORCH_LOOK_OPS  256 /* of a thread, from one look at the clock to the next */
/*
 * What recording an op takes of the program: PyTorch's way to its callbacks, these, and what they
 * displace from the caches. Measured with PyTorch 2.6 in training steps (tests/bench/torch).
 */
#define TORCH_OP_NS 1000

/* PyTorch's callbacks; calls into PyTorch, between hooks. */
struct torch_switch {
	void (*record)(bool on);
	void (*scout)(bool on);
	bool (*may_thin)(void); /* now; no call into PyTorch */
};

/* ALLOWED: millionths of the time that recording may take; 0: all ops are recorded. */
void torch_thin_start(const struct torch_switch *s, uint32_t allowed);

/* Before what S switches is gone: nothing is switched any more, until the next start. False: a
   thread is at it, and stays there. */
bool torch_thin_stop(void);

/* The process is a child of fork(). */
void torch_thin_fork(void);

/* How many ops one stands for, in units of 1 / OP_WEIGHT_ONE; 0: it is not to be recorded. */
struct torch_taken {
	uint32_t weight;
	uint32_t window; /* its number; 0: all are recorded */
};

/*
 * The calling thread begins an op whose guard is at ADDRESS, and that CALLER (0: nobody that is
 * known) has called in Python.
 */
struct torch_taken torch_thin_begin(uint64_t address, uint32_t caller);

/* It has not taken one. Between hooks. */
void torch_thin_left_out(void);

/* An op that was taken has ended. Between hooks. */
void torch_thin_end(void);

/* PyTorch has called the scout. Between hooks. */
void torch_thin_scout(void);

/* Whether a caller is of use to torch_thin_begin(). */
bool torch_thin_is_wanted(void);
