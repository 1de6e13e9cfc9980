/* SPDX-License-Identifier: MIT */
/*
 * The chain of Python frames of one thread, as the interpreter has it.
 *
 *	3.8–3.10   thread ──► frame ──► frame ──► …                    one call of eval each
 *	3.11       thread ──► cframe ──► frame ──► frame (entry) ──► frame …
 *	                        └──► cframe (of the next entry) …      anchors: the cframes
 *	3.12       thread ──► cframe ──► frame ──► frame ──► shim ──► frame …
 *	3.13–3.15  thread ──► frame ──► frame ──► shim ──► …           anchors: the shims
 *
 * For handlers. Everything is asked of the guard before it is read.
 */
#pragma once

#include "base/record.h"
#include "tracer/agent/python/python_guard.h"
#include "tracer/agent/python/python_runtime.h"

#include <stdbool.h>
#include <stdint.h>

/* Where a walk stands. */
struct python_frames {
	const struct python_runtime *runtime;
	struct guard *guard; /* with the bounds of the stack; the rest is ours */
	uintptr_t thread;
	uintptr_t frame;  /* the next one, 0: none */
	uintptr_t cframe; /* 3.11 */
	uintptr_t chunk;
	uintptr_t dead_low, dead_high; /* what frames have left of the newest chunk */
	uint32_t steps;
};

struct python_step {
	uintptr_t code;        /* not checked yet */
	uintptr_t instruction; /* as the frame has it: a pointer, or f_lasti */
	uintptr_t anchor;
	int32_t tlbc;
};

/* False: the thread is in no Python, or what it has cannot be read. */
bool python_frames_start(struct python_frames *f, const struct python_runtime *runtime,
                         struct guard *guard, uintptr_t thread);

/*
 * Before the first step, with the REGISTERS that the thread was interrupted with: whether F stands
 * right. A call that is just beginning, or has just ended, is left out.
 */
bool python_frames_enter(struct python_frames *f, const uint64_t registers[DWARF_REGISTERS]);

/* The next frame, of its caller. False: there is none, or it cannot be read. */
bool python_frames_next(struct python_frames *f, struct python_step *out);

/* The place of OF in the bytecode of its code, which has been checked, in bytes. */
int32_t python_frames_instruction(const struct python_runtime *runtime, struct guard *guard,
                                  const struct python_step *of);
