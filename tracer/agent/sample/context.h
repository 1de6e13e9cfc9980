/* SPDX-License-Identifier: MIT */
/*
 * What a signal interrupted. The only file that knows <ucontext.h>, whose REG_*
 * are not those of base/record.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONTEXT_REGISTERS 17

/* Registers in DWARF's order; CONTEXT is the handler's third argument. */
void context_registers(const void *context, uint64_t registers[CONTEXT_REGISTERS]);

uintptr_t context_stack_pointer(const void *context);
uintptr_t context_instruction(const void *context);

/* The thread's alternate signal stack; *SIZE is 0 if it has none. */
void context_alternate_stack(const void *context, uintptr_t *base, size_t *size);

/* Whether the thread has computed with subnormal numbers, and takes the time for it. */
bool context_computes_subnormal(const void *context);

/*
 * Which vector registers hold subnormal numbers, as in struct record_sample. Reads alone: the
 * target's MXCSR and its flags stay as they are. False if the registers are not there.
 */
bool context_subnormal(const void *context, uint32_t *subnormal);
