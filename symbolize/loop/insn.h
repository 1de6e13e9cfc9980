/* SPDX-License-Identifier: MIT */
/*
 * One x86-64 instruction, as far as the analysis of loops needs it: what it reads and writes, where
 * it goes on, and the few operations whose results are computed rather than called unknown.
 *
 * Decoded by Zydis. In a build without it nothing can be decoded: insn_decoder() says so.
 *
 * Functions without state, for any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Registers by number: 0 to 15 as instructions encode them, rax first; then vectors; the flags. */
#define INSN_RAX     0
#define INSN_RSP     4
#define INSN_RBP     5
#define INSN_VECTOR  16
#define INSN_VECTORS 32
#define INSN_MASK    48 /* k0 to k7 */
#define INSN_FLAGS   56
#define INSN_X87     57 /* all of them, and MMX's */
#define INSN_OTHER   58
#define INSN_REGS    59
#define INSN_NO_REG  0xff

enum insn_flow {
	INSN_NEXT,
	INSN_JUMP,   /* to TARGET */
	INSN_BRANCH, /* there, or on */
	INSN_CALL,   /* and on */
	INSN_END,    /* returns, stops, or goes where only the running program knows */
	INSN_AWAY    /* jumps by a register or by memory */
};

enum insn_op {
	INSN_OP_OTHER,
	INSN_OP_MOVE,     /* DST = SRC, memory, or IMM */
	INSN_OP_ADD,      /* DST += SRC or IMM */
	INSN_OP_SUBTRACT, /* DST -= SRC */
	INSN_OP_LEA,      /* DST = address of MEMORY */
	INSN_OP_SCALE,    /* DST = SRC * IMM */
	INSN_OP_SELECT    /* DST = SRC or memory, if the flags say so */
};

/* What a floating-point instruction computes. */
enum insn_math {
	INSN_MATH_NONE,
	INSN_MATH_ADD, /* or subtract, smallest, largest */
	INSN_MATH_MULTIPLY,
	INSN_MATH_FUSED, /* multiply and add */
	INSN_MATH_OTHER
};

struct insn_memory {
	uint8_t base, index; /* registers, or INSN_NO_REG */
	uint8_t scale;
	bool elsewhere; /* addresses that are not the registers' alone: fs, gs, a vector of them */
	uint16_t bytes;
	int64_t displacement; /* without a base: the address, or the offset from this function */
};

struct insn {
	uint32_t at; /* offset in the code */
	uint8_t length;
	uint8_t flow; /* enum insn_flow */
	uint8_t op;   /* enum insn_op */
	uint8_t math; /* enum insn_math */
	int64_t target;
	uint64_t reads, writes;   /* registers, a bit each */
	uint8_t dst, src, addend; /* of OP; of FUSED: what is added; or INSN_NO_REG */
	bool has_imm;
	int64_t imm;
	bool loads, stores; /* MEMORY */
	bool more_memory;   /* a second place of memory, as of push and movs */
	struct insn_memory memory;
	uint16_t vector_bytes; /* of the widest vector that it computes with, or moves; 0: none */
	bool packed;           /* computes with more than one element at once */
	bool scalar;           /* computes with one floating-point number */
	uint8_t float_bytes;   /* of each number that MATH is about: 8 or 4 */
	bool divides;          /* divides, or takes a root */
	uint8_t divisor;       /* a register, of divisions of integers; or INSN_NO_REG */
	bool waits;            /* pause, and its like */
	bool nothing;          /* a nop, and what else fills gaps */
	bool atomic;
	bool integer;    /* computes with general registers: no move, no comparison */
	bool associates; /* of these, sums and their like: any order gives the same */
	bool compares;
};

/* The library that decodes; NULL: none, and insn_decode() knows nothing. */
const char *insn_decoder(void);

/* The instruction at offset AT of CODE, SIZE bytes. False if there is none. */
bool insn_decode(const uint8_t *code, size_t size, uint32_t at, struct insn *out);
