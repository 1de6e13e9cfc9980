/* SPDX-License-Identifier: MIT */
/*
 * Call frame information as compilers write it: the entries of an .eh_frame or
 * .debug_frame section (DWARF 5, 6.4; Linux Standard Base, 10.6), each with the
 * program that cfi_program.h runs.
 *
 * The bytes are borrowed, foreign, and may hold anything: what cannot be read
 * is skipped. One thread at a time.
 */
#pragma once

#include "base/hash.h"
#include "sampler/unwind/cfi_program.h"
#include "sampler/unwind/cfi_search.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
	struct cfi_search search;       /* filled by who needs it */
};

/* False if there is no memory. */
bool cfi_section_init(struct cfi_section *section, const uint8_t *bytes, size_t size,
                      uint64_t address, bool debug_frame);
void cfi_section_fini(struct cfi_section *section);

/* The next FDE in the order of the section; false at its end. */
bool cfi_section_next(struct cfi_section *section, struct cfi_fde *fde);

/* The FDE at OFFSET; false if none is there. */
bool cfi_section_at(struct cfi_section *section, uint64_t offset, struct cfi_fde *fde);

const struct cfi_cie *cfi_section_cie(const struct cfi_section *section, const struct cfi_fde *fde);

/*
 * Runs FDE's program: ROW gets each address from which another state holds, in
 * ascending order, beginning at fde->start. If the program cannot be followed
 * to its end, the last row is CFA_UNKNOWN.
 */
void cfi_section_run(const struct cfi_section *section, const struct cfi_fde *fde, cfi_row *row,
                     void *context);

/* An address that B reads as ENCODING (DW_EH_PE_*) says; B goes bad at what we cannot follow. */
uint64_t cfi_section_pointer(const struct cfi_section *section, struct cursor *b, uint8_t encoding);
