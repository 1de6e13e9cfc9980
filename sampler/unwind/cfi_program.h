/* SPDX-License-Identifier: MIT */
/*
 * The little programs of call frame information, which say for each instruction
 * where the caller's registers are (DWARF 5, 6.4.2).
 *
 * Of all registers only those that a stack walk needs are followed: the CFA,
 * the return address and rbp. The bytes are foreign and may hold anything: what
 * cannot be followed comes out as CFA_UNKNOWN. Nothing is kept: any thread may
 * run any program.
 */
#pragma once

#include "base/bytes.h"

#include <stdbool.h>
#include <stdint.h>

struct cfi_section;

/* The caller's stack pointer, before its call pushed the return address. */
enum cfa_kind {
	CFA_UNKNOWN = 0, /* nothing says, or in a way that we do not follow */
	CFA_REGISTER,    /* cfa_register + cfa_offset */
	CFA_EXPRESSION
};

enum saved_kind {
	SAVED_NOT = 0, /* the register still holds the caller's value */
	SAVED_UNDEFINED,
	SAVED_AT_CFA,        /* in memory at CFA + offset */
	SAVED_AT_EXPRESSION, /* in memory at the expression's value */
	SAVED_OTHER          /* in another register, or a computed value */
};

/* A DWARF expression, where it stands in the section. */
struct cfi_expression {
	uint32_t offset, size;
};

struct cfi_saved {
	enum saved_kind kind;
	union {
		int64_t offset;                   /* SAVED_AT_CFA */
		struct cfi_expression expression; /* SAVED_AT_EXPRESSION */
	};
};

/* What holds from one instruction up to the next row. */
struct cfi_state {
	enum cfa_kind cfa;
	uint32_t cfa_register; /* DWARF number */
	union {
		int64_t cfa_offset;                   /* CFA_REGISTER */
		struct cfi_expression cfa_expression; /* CFA_EXPRESSION */
	};
	struct cfi_saved return_address;
	struct cfi_saved rbp;
};

/* Shared by the entries (FDEs) that name it. */
struct cfi_cie {
	uint64_t code_alignment;
	int64_t data_alignment;
	uint8_t pointer_encoding; /* DW_EH_PE_* of the FDEs' addresses */
	bool augmented;           /* FDEs carry a length of augmentation data */
	bool signal;              /* frames interrupted by a signal lie above its code */
	bool usable;
	uint32_t return_column;
	struct cfi_state initial;
};

/* STATE holds from ADDRESS on; it is the callee's only until it returns. */
typedef void cfi_row(void *context, uint64_t address, const struct cfi_state *state);

/*
 * Runs CODE, a part of SECTION, for the instructions from START up to END. *STATE is what holds
 * before the first of them, and then what holds after the last. ROW gets each address from which
 * another state holds, in ascending order, beginning at START; if the program cannot be followed
 * to its end, the last row is CFA_UNKNOWN, and the answer false.
 */
bool cfi_program_run(const struct cfi_section *section, const struct cfi_cie *cie,
                     struct cursor code, uint64_t start, uint64_t end, struct cfi_state *state,
                     cfi_row *row, void *context);
