/* SPDX-License-Identifier: MIT */
/*
 * How to step from a frame to its caller, for every instruction of a module, in
 * a form that is small and quick to search.
 *
 *	pages[]   one per 256 bytes of code: the row that holds at its start
 *	  |
 *	  v
 *	pc[]      row i holds for the addresses from base + pc[i] up to pc[i + 1]
 *	rule[]    row i's index in rules[]
 *	rules[]   each distinct rule once
 *
 * A table needs about as many bytes as the section it is made of. It is a value
 * that does not change, and it needs neither the section nor the file.
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
	CFI_UCONTEXT    /* a signal trampoline: all registers are in the ucontext at rsp */
};

enum cfi_rbp {
	CFI_RBP_KEPT = 0,
	CFI_RBP_AT_CFA, /* at CFA + rbp_offset */
	CFI_RBP_AT_RBP  /* at rbp + rbp_offset */
};

struct cfi_rule {
	uint8_t cfa;    /* enum cfi_cfa */
	uint8_t rbp;    /* enum cfi_rbp */
	uint8_t add;    /* bytes, or a register */
	uint8_t signal; /* 1: the frame above was interrupted, it made no call */
	int32_t offset; /* bytes */
	int32_t rbp_offset;
};
_Static_assert(sizeof(struct cfi_rule) == 12, "no padding: rules are compared as bytes");

/* Read by cfi_table_find() and by tests; nobody else should need the fields. */
struct cfi_table {
	uint64_t base;      /* what pc[] counts from */
	uint32_t low, high; /* addresses outside [base + low, base + high) have no rule */
	uint32_t rows, rule_count, page_count;
	uint32_t page_shift;
	uint32_t *pc;
	uint16_t *rule;
	struct cfi_rule *rules;
	uint32_t *pages;
};

struct cfi_table_options {
	uint64_t base;                 /* the lowest address of the module */
	uint64_t text_start, text_end; /* what claims to describe code elsewhere is left out */
};

/*
 * Reads SECTIONS to their ends. Where two describe the same code the earlier
 * one holds. NULL if there is no memory. A section without anything usable
 * makes an empty table.
 */
struct cfi_table *cfi_table_new(struct cfi_section *sections, size_t section_count,
                                const struct cfi_table_options *options, struct error *err);
void cfi_table_free(struct cfi_table *table);

CLEANUP(cfi_table, struct cfi_table *, cfi_table_free)

/* Memory in use, in bytes. */
size_t cfi_table_bytes(const struct cfi_table *table);

/* The rule at ADDRESS (in the module); never NULL. */
static inline const struct cfi_rule *cfi_table_find(const struct cfi_table *t, uint64_t address)
{
	uint64_t offset = address - t->base;

	if (offset - t->low >= (uint64_t)t->high - t->low)
		return &t->rules[CFI_NO_RULE];

	uint32_t pc = (uint32_t)offset;
	uint32_t page = (pc - t->low) >> t->page_shift;
	uint32_t row = t->pages[page];
	uint32_t end = t->pages[page + 1] + 1;
	while (end - row > 8) {
		uint32_t middle = row + (end - row) / 2;
		if (t->pc[middle] <= pc)
			row = middle;
		else
			end = middle;
	}
	while (row + 1 < end && t->pc[row + 1] <= pc)
		row++;
	return &t->rules[t->rule[row]];
}
