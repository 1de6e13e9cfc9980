/* SPDX-License-Identifier: MIT */
/*
 * x86-64 instructions, as far as moving some of them elsewhere needs: how long each is, where
 * control goes from there, and which bytes count from the instruction's own place.
 *
 * Formats and opcode maps are those of Intel's SDM, volume 2 (chapter 2, appendix A), with AMD's
 * 3DNow! and XOP. What is not known for sure is not decoded. Tests compare with Zydis over the
 * code of whole libraries.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define X86_LENGTH_MAX 15

enum x86_flow {
	X86_NEXT,
	X86_BRANCH, /* to its target, or on */
	X86_JUMP,
	X86_CALL,
	X86_JUMP_INDIRECT,
	X86_CALL_INDIRECT,
	X86_RETURN,
	X86_STOP /* does not go on: ud2, hlt, int3 */
};

struct x86 {
	uint8_t length;
	uint8_t flow;   /* enum x86_flow */
	uint8_t opcode; /* where in the instruction it stands, behind all prefixes and escapes */
	uint8_t relative_at;   /* where the displacement stands that counts from the end; 0: none */
	uint8_t relative_size; /* 1 or 4 */
	bool memory; /* that displacement is of an operand in memory; else of a branch's target */
	bool nop;    /* does nothing, as between functions */
};

/* The instruction at CODE, of which SIZE bytes may be read. False if it is not known. */
bool x86_decode(const uint8_t *code, size_t size, struct x86 *out);

/* Where the relative displacement of X, which stands at ADDRESS, leads. */
uint64_t x86_target(const struct x86 *x, const uint8_t *code, uint64_t address);
