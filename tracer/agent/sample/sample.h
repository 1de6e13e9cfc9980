/* SPDX-License-Identifier: MIT */
/*
 * One sample: the interrupted registers and the live stack, as a record.
 *
 * Runs in the handler of the sampled thread: no allocation, no fault whatever
 * the stack pointer is.
 */
#pragma once

#include "base/record.h"
#include "tracer/agent/rings.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Copies from address SP up, at most SIZE bytes, as far as memory is mapped. Returns the count. */
size_t sample_copy_unknown(void *to, uintptr_t sp, size_t size);

/* The same from the thread's own stack or wherever SP is. LANE knows the stack's bounds, or not. */
size_t sample_copy_stack(void *to, const struct lane *lane, uintptr_t sp, size_t size);

/*
 * Writes what CONTEXT (a handler's third argument) interrupted into LANE, with FLAGS of enum
 * sample_flags, and PYTHON, which may be NULL. False if the ring is full: the weight is then that
 * of the next sample.
 */
bool sample_write(struct rings *rings, struct lane *lane, const void *context, uint32_t stack_bytes,
                  uint64_t cpu_ns, uint64_t weight_ns, uint16_t flags,
                  const struct python_chain *python);

/*
 * The registers alone, of a thread that others sample: where it has computed with subnormal
 * numbers. Nothing otherwise, or if the ring is full.
 */
void sample_write_look(struct rings *rings, struct lane *lane, const void *context);
