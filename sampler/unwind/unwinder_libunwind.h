/* SPDX-License-Identifier: MIT */
/*
 * Stack walks by libunwind's remote interface, over registers and memory that
 * the caller provides. Slow, general, and not ours: it steps where our table
 * has no rule, and it is what our table is tested against.
 *
 * One thread at a time.
 */
#pragma once

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct unwinder_libunwind;

/* Registers go by DWARF number, as in enum dwarf_register: <libunwind.h> brings <sys/ucontext.h>,
   which has other constants of the same names. */
#define UNWINDER_LIBUNWIND_REGS 17

/* Where the unwind information of the code at some address is; run-time addresses. */
struct unwind_search {
	uint64_t start, end;   /* of the mapping */
	uint64_t segment_base; /* what the table's entries are relative to */
	uint64_t table;        /* {i32 function, i32 FDE} by function; read through READ */
	uint64_t table_count;
};

/* The memory and the modules of the walk's process. */
struct unwinder_libunwind_source {
	void *context;
	bool (*read)(void *context, uint64_t address, uint64_t *word);
	bool (*find)(void *context, uint64_t pc, struct unwind_search *found);
};

enum unwinder_libunwind_step {
	LIBUNWIND_CALLER, /* one frame further out */
	LIBUNWIND_END,    /* that was the outermost frame */
	LIBUNWIND_FAILED
};

struct unwinder_libunwind *unwinder_libunwind_new(const struct unwinder_libunwind_source *source,
                                                  struct error *err);
void unwinder_libunwind_free(struct unwinder_libunwind *l);

CLEANUP(unwinder_libunwind, struct unwinder_libunwind *, unwinder_libunwind_free)

/*
 * Starts a walk at REGS, of which those in KNOWN (bit 1 << number) have values. What it has
 * learnt of the code serves again for every walk with the same FINGERPRINT of the address space.
 * False if libunwind refuses.
 */
bool unwinder_libunwind_begin(struct unwinder_libunwind *l,
                              const uint64_t regs[UNWINDER_LIBUNWIND_REGS], uint32_t known,
                              uint64_t fingerprint);

enum unwinder_libunwind_step unwinder_libunwind_step(struct unwinder_libunwind *l);

/* The value in the present frame; false if it is not known. */
bool unwinder_libunwind_get(struct unwinder_libunwind *l, unsigned reg, uint64_t *value);
