/* SPDX-License-Identifier: MIT */
/*
 * Who in the program made a call of CUDA's, seen from our hook:
 *
 *	the program        ── its stack pointer: STACK
 *	cudaLaunchKernel   return address: CALLER, at STACK - 8
 *	… libcuda, libcupti, of sizes that we do not know
 *	hook
 *
 * The stack is walked by libgcc's unwinder, once for each function and call site; then the return
 * address stands as far from the hook as it did, which is believed if it is one that a walk has
 * found there. Nothing is read but between the ends of a walk of this thread.
 */
#pragma once

#include "tracer/agent/op/op.h"

#include <stdbool.h>

/* Finds the unwinder. Without one, nothing is found. Not for handlers. */
void cupti_place_start(void);

/*
 * HERE, which is the hook's, becomes that of FUNCTION, of the runtime's or the driver's. A runtime
 * that is linked into the program is distinguished by what is not there: a frame of libcudart.so.
 * False: it is not known, and HERE is as it was.
 */
bool cupti_place_find(const char *function, bool runtime, struct op_here *here);
