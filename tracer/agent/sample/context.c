// SPDX-License-Identifier: MIT
#include "tracer/agent/sample/context.h"

#include <signal.h>
#include <ucontext.h>

void context_registers(const void *context, uint64_t registers[CONTEXT_REGISTERS])
{
	static const uint8_t order[CONTEXT_REGISTERS] = {
		REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
		REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP,
	};
	const ucontext_t *uc = context;

	for (int i = 0; i < CONTEXT_REGISTERS; i++)
		registers[i] = (uint64_t)uc->uc_mcontext.gregs[order[i]];
}

uintptr_t context_stack_pointer(const void *context)
{
	const ucontext_t *uc = context;

	return (uintptr_t)uc->uc_mcontext.gregs[REG_RSP];
}

uintptr_t context_instruction(const void *context)
{
	const ucontext_t *uc = context;

	return (uintptr_t)uc->uc_mcontext.gregs[REG_RIP];
}

void context_alternate_stack(const void *context, uintptr_t *base, size_t *size)
{
	const ucontext_t *uc = context;

	*base = (uintptr_t)uc->uc_stack.ss_sp;
	*size = uc->uc_stack.ss_flags & SS_DISABLE ? 0 : uc->uc_stack.ss_size;
}
