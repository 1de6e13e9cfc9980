// SPDX-License-Identifier: MIT
#include "tracer/agent/sample/context.h"

#include <signal.h>
#include <string.h>
#include <ucontext.h>

// Of MXCSR: an operand was subnormal, or a result, since the program has last cleared the flags;
// and subnormal operands are taken for zero, or subnormal results set to it.
#define MXCSR_DENORMAL  (1u << 1)
#define MXCSR_UNDERFLOW (1u << 4)
#define MXCSR_DAZ       (1u << 6)
#define MXCSR_FTZ       (1u << 15)

// What stands behind the 512 bytes of FXSAVE, where the kernel says that it is there.
#define XSTATE_MAGIC     0x46505853u
#define XSTATE_MAGIC_AT  464 // and the features of the frame 8 bytes on
#define XSTATE_HEADER_AT 512
#define XSTATE_YMM_AT    576
#define XSTATE_YMM       (1u << 2)

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

// The upper halves of the registers, if there are any in use; NULL otherwise.
static const uint8_t *upper_halves(const uint8_t *state)
{
	uint32_t magic;
	uint64_t saved, used;

	memcpy(&magic, state + XSTATE_MAGIC_AT, sizeof(magic));
	if (magic != XSTATE_MAGIC)
		return NULL;
	memcpy(&saved, state + XSTATE_MAGIC_AT + 8, sizeof(saved));
	memcpy(&used, state + XSTATE_HEADER_AT, sizeof(used));
	return saved & used & XSTATE_YMM ? state + XSTATE_YMM_AT : NULL;
}

static bool has_double(const uint8_t half[16])
{
	uint64_t bits[2];

	memcpy(bits, half, sizeof(bits));
	for (int i = 0; i < 2; i++)
		if (bits[i] << 1 && !(bits[i] << 1 >> 53))
			return true;
	return false;
}

static bool has_float(const uint8_t half[16])
{
	uint32_t bits[4];

	memcpy(bits, half, sizeof(bits));
	for (int i = 0; i < 4; i++)
		if (bits[i] << 1 && !(bits[i] << 1 >> 24))
			return true;
	return false;
}

bool context_computes_subnormal(const void *context)
{
	const ucontext_t *uc = context;
	const struct _libc_fpstate *state = uc->uc_mcontext.fpregs;

	return state && state->mxcsr & (MXCSR_DENORMAL | MXCSR_UNDERFLOW) &&
	       ~state->mxcsr & (MXCSR_DAZ | MXCSR_FTZ);
}

bool context_subnormal(const void *context, uint32_t *subnormal)
{
	const ucontext_t *uc = context;
	const struct _libc_fpstate *state = uc->uc_mcontext.fpregs;

	*subnormal = 0;
	if (!state)
		return false;
	// Small integers look like subnormal numbers, in nearly any program.
	if (!context_computes_subnormal(context))
		return true;
	const uint8_t *upper = upper_halves((const uint8_t *)state);
	for (int reg = 0; reg < 16; reg++) {
		const uint8_t *half = (const uint8_t *)&state->_xmm[reg];
		const uint8_t *other = upper ? upper + 16 * reg : half;
		*subnormal |= (uint32_t)(has_double(half) || has_double(other)) << reg;
		*subnormal |= (uint32_t)(has_float(half) || has_float(other)) << (reg + 16);
	}
	return true;
}
