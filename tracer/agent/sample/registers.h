/* SPDX-License-Identifier: MIT */
/*
 * The registers that an unwinder needs to start from where it is called.
 */
#pragma once

#include "base/record.h"

#include <stdint.h>
#include <string.h>

/* Only what a callee keeps, RSP and RIP; the others are 0. In the caller's own frame. */
static inline __attribute__((always_inline)) void registers_here(uint64_t regs[DWARF_REGISTERS])
{
	memset(regs, 0, DWARF_REGISTERS * sizeof(*regs));
#ifdef __x86_64__
	__asm__ volatile(
		"movq %%rbx, %c[rbx](%[regs])\n\t"
		"movq %%rbp, %c[rbp](%[regs])\n\t"
		"movq %%rsp, %c[rsp](%[regs])\n\t"
		"movq %%r12, %c[r12](%[regs])\n\t"
		"movq %%r13, %c[r13](%[regs])\n\t"
		"movq %%r14, %c[r14](%[regs])\n\t"
		"movq %%r15, %c[r15](%[regs])\n\t"
		"leaq 0(%%rip), %%rax\n\t"
		"movq %%rax, %c[rip](%[regs])"
		:
		: [regs] "r"(regs), [rbx] "i"(DWARF_RBX * 8), [rbp] "i"(DWARF_RBP * 8),
		  [rsp] "i"(DWARF_RSP * 8), [r12] "i"(DWARF_R12 * 8), [r13] "i"(DWARF_R13 * 8),
		  [r14] "i"(DWARF_R14 * 8), [r15] "i"(DWARF_R15 * 8), [rip] "i"(DWARF_RIP * 8)
		: "rax", "memory");
#endif
}
