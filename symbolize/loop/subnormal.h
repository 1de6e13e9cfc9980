/* SPDX-License-Identifier: MIT */
/*
 * Arithmetic on subnormal numbers: those so near to zero that many CPUs compute with them in
 * microcode, some 150 cycles an operation.
 *
 * Functions without state, for any thread.
 */
#pragma once

#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SUBNORMAL_REGISTERS 16

/* What vector registers held at the samples of one address: how many of COUNT had a subnormal
   number in each. */
struct subnormal_looks {
	uint32_t count;
	uint32_t doubles[SUBNORMAL_REGISTERS], floats[SUBNORMAL_REGISTERS];
};

/* SUBNORMAL: as in struct record_sample. */
void subnormal_look(struct subnormal_looks *looks, uint32_t subnormal);

/* A sampled address; LOOKS may be NULL. */
struct subnormal_spot {
	const struct subnormal_looks *looks;
};

/* What a piece of code computes with. */
struct subnormal_use {
	double share;   /* of its samples that had a subnormal operand or result, 0 to 1 */
	uint64_t found; /* how many they are */
	bool adds, multiplies, divides; /* kinds of operations that have such operands */
};

/*
 * Looks at the floating-point operations of CODE from the offset BEGIN to END, and at their
 * registers in the samples of COUNT spots there: of several registers, the one that held subnormal
 * numbers most often counts. Integers in registers that look the same do not.
 */
struct subnormal_use subnormal_find(struct bytes code, uint32_t begin, uint32_t end,
                                    const struct subnormal_spot *spots, size_t count);

/*
 * How many times as long the operations of USE take with such numbers on the CPU that this runs
 * on, for the slowest of their kinds. Takes about a millisecond.
 */
double subnormal_slowdown(const struct subnormal_use *use);
