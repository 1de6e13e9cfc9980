/* SPDX-License-Identifier: MIT */
/*
 * Call frame information as compilers write it: the entries of an .eh_frame or
 * .debug_frame section, and the little programs in them that say, for each
 * instruction, where the caller's registers are.
 *
 * Of all registers only those that a stack walk needs are followed: the CFA,
 * the return address and rbp. The bytes are foreign and may hold anything: what
 * cannot be read is skipped, or comes out as CFA_UNKNOWN.
 */
#pragma once

#include "base/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* The code of one function, or of a part of one. */
struct cfi_fde {
	uint64_t start, size; /* addresses in the module */
	uint32_t offset;      /* of the entry in the section */
	uint32_t program;     /* offset of its instructions in the section */
	uint32_t program_end;
	uint32_t cie; /* index, see cfi_section_cie() */
};

struct cfi_section {
	const uint8_t *bytes; /* borrowed */
	size_t size;          /* below 4 GB; what lies behind is not read */
	uint64_t address;     /* of the first byte, in the module */
	bool debug_frame;     /* laid out like .debug_frame, not .eh_frame */
	size_t next;          /* offset of the next entry */
	/* CIEs that FDEs have named so far. */
	struct cfi_cie *cies;
	uint32_t *cie_offsets;
	size_t cie_count, cie_capacity, offset_capacity;
	struct hash index;
	uint32_t last_offset, last_cie; /* of the FDE before */
};

/* False if there is no memory. */
bool cfi_section_init(struct cfi_section *section, const uint8_t *bytes, size_t size,
                      uint64_t address, bool debug_frame);
void cfi_section_fini(struct cfi_section *section);

/* The next FDE in the order of the section; false at its end. */
bool cfi_section_next(struct cfi_section *section, struct cfi_fde *fde);

const struct cfi_cie *cfi_section_cie(const struct cfi_section *section, const struct cfi_fde *fde);

/*
 * Runs FDE's program: ROW gets each address from which another state holds, in
 * ascending order, beginning at fde->start. If the program cannot be followed
 * to its end, the last row is CFA_UNKNOWN.
 */
void cfi_section_run(const struct cfi_section *section, const struct cfi_fde *fde,
                     void (*row)(void *context, uint64_t address, const struct cfi_state *state),
                     void *context);
