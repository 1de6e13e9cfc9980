/* SPDX-License-Identifier: MIT */
/*
 * How to step from a frame to its caller, for every instruction of a module, in
 * a form that is small and quick to search.
 *
 *	parts[]   one per 64 KB of code; NULL until somebody asks for a rule in it:
 *	  |       of a large library most functions are never on a stack
 *	  v
 *	pages[]   one per 256 bytes: the row that holds at its start
 *	  |
 *	  v
 *	rows[]    each holds for the addresses from its PC up to the next one's, and
 *	  |       names its rule
 *	  v
 *	rules[]   each distinct rule of the module once
 *
 * One thread at a time.
 */
#pragma once

#include "base/cleanup.h"
#include "sampler/unwind/cfi_section.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

/* Where the caller's stack pointer (CFA) is; its return address is at CFA - 8. */
enum cfi_cfa {
	CFI_NO_RULE = 0, /* no unwind information covers the address */
	CFI_UNUSABLE,    /* covered, but by a rule that does not fit in here */
	CFI_OUTERMOST,   /* there is no caller */
	CFI_RSP,         /* rsp + offset */
	CFI_RBP,         /* rbp + offset */
	CFI_REGISTER, /* another register (number in ADD) + offset: prologues that realign the stack
	                 (r10), asm; only where all registers are known */
	CFI_PLT,      /* rsp + 8, and 8 more from byte OFFSET of each 16-byte stub */
	CFI_RSP_MEMORY, /* *(rsp + offset) + add */
	CFI_RBP_MEMORY, /* *(rbp + offset) + add: the rest of a realigned function */
	CFI_UCONTEXT,   /* a signal trampoline: all registers are in the ucontext at rsp */
	/* Functions of Go's runtime whose callers are on another stack: sampler/unwind/go_stacks.h
	 */
	CFI_GO_CALL,  /* g at rsp + offset, the distance from its stack's end at rsp + rbp_offset */
	CFI_GO_SYSTEM /* m.curg at offset, g.sched.sp at rbp_offset */
};

enum cfi_rbp {
	CFI_RBP_KEPT = 0,
	CFI_RBP_AT_CFA, /* at CFA + rbp_offset */
	CFI_RBP_AT_RBP  /* at rbp + rbp_offset */
};

struct cfi_rule {
	uint8_t cfa;    /* enum cfi_cfa */
	uint8_t rbp;    /* enum cfi_rbp */
	uint8_t add;    /* bytes, or a register; CFI_GO_*: from the other stack's rsp to the CFA */
	uint8_t signal; /* 1: the frame above was interrupted, it made no call */
	int32_t offset; /* bytes */
	int32_t rbp_offset;
};
_Static_assert(sizeof(struct cfi_rule) == 12, "no padding: rules are compared as bytes");

#define CFI_SECTIONS_MAX 2

#define CFI_PART_SHIFT   16
#define CFI_PAGE_SHIFT   8
#define CFI_PART_PAGES   (1 << (CFI_PART_SHIFT - CFI_PAGE_SHIFT))

struct cfi_row {
	uint16_t pc; /* bytes from the start of the part; of the first row 0 */
	uint16_t rule;
};

struct cfi_part {
	struct cfi_part *next;              /* the one made before it */
	uint16_t pages[CFI_PART_PAGES + 1]; /* the last one: the last row */
	struct cfi_row rows[];
};

/* Read by cfi_table_find() and by tests; nobody else should need the fields. */
struct cfi_table {
	uint64_t start; /* of the first part */
	uint32_t part_count, rule_count;
	struct cfi_part **parts;
	struct cfi_part *made; /* the last one */
	struct cfi_rule *rules;
	/* For the parts that are still to be made. */
	struct cfi_section sections[CFI_SECTIONS_MAX];
	size_t section_count;
	uint64_t end;           /* of the code */
	const uint8_t *go_code; /* of a Go program, GO_BYTES at GO_ADDRESS; else NULL */
	size_t go_bytes;
	uint64_t go_address;
	struct hash index; /* of rules */
	size_t rule_capacity;
	size_t bytes; /* in use */
};

/*
 * A table for the code from START up to END; what claims to describe other code is
 * left out. Where two of the SECTIONS describe the same code the earlier one holds.
 * They become the table's own, also on error, but for their bytes, which must outlive
 * it; those that have no search table get one. NULL if there is no memory.
 */
struct cfi_table *cfi_table_new(const struct cfi_section *sections, size_t section_count,
                                uint64_t start, uint64_t end, struct error *err);
void cfi_table_free(struct cfi_table *table);

/* SIZE bytes of CODE at ADDRESS are a Go program's, and say where it changes stacks. They must
   outlive TABLE, of which no part is made yet. */
void cfi_table_set_go(struct cfi_table *table, const uint8_t *code, size_t size, uint64_t address);

CLEANUP(cfi_table, struct cfi_table *, cfi_table_free)

/* The rule at ADDRESS (in the module), NULL if its part has not been made yet. Like the next one's
   it is valid until another part is made. */
static inline const struct cfi_rule *cfi_table_find(const struct cfi_table *t, uint64_t address)
{
	uint64_t offset = address - t->start, part = offset >> CFI_PART_SHIFT;

	if (part >= t->part_count || !t->parts[part])
		return NULL;

	const struct cfi_part *p = t->parts[part];
	uint16_t pc = (uint16_t)offset;
	const struct cfi_row *row = &p->rows[p->pages[pc >> CFI_PAGE_SHIFT]];
	const struct cfi_row *end = &p->rows[p->pages[(pc >> CFI_PAGE_SHIFT) + 1] + 1];
	while (end - row > 8) {
		const struct cfi_row *middle = row + (end - row) / 2;
		if (middle->pc <= pc)
			row = middle;
		else
			end = middle;
	}
	while (row + 1 < end && row[1].pc <= pc)
		row++;
	return &t->rules[row->rule];
}

/* The same; makes the part if need be. Never NULL. */
const struct cfi_rule *cfi_table_rule(struct cfi_table *t, uint64_t address);
