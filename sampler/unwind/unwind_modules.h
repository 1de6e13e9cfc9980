/* SPDX-License-Identifier: MIT */
/*
 * What the unwinder knows of each module: its file, its table, and what
 * libunwind reads. Made at the first frame in the module; the least recently
 * used go when they need more memory or descriptors than their budget.
 *
 * One thread at a time.
 */
#pragma once

#include "base/cleanup.h"
#include "base/module.h"
#include "sampler/unwind/address_space.h"
#include "sampler/unwind/cfi_table.h"
#include "sampler/unwind/image.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UNWIND_BUDGET_BYTES ((size_t)256 << 20)
#define UNWIND_OPEN_MAX     256 /* files */

/* A table of {function, FDE} by address, as .eh_frame_hdr has it: offsets from BASE. */
struct search_table {
	const uint8_t *entries; /* 8 bytes each */
	size_t count;
	uint64_t base;    /* address in the module */
	uint64_t address; /* of the entries in the module; 0: we have made them */
};

struct unwind_module {
	uint32_t id;
	struct image *image;     /* NULL: no file */
	struct cfi_table *table; /* NULL: no file */
	pid_t failed_pid;        /* the file could not be had through this process */
	uint64_t used;           /* when, on the owner's clock */
	size_t bytes;
	/* For libunwind and for function starts, loaded when they are asked for. */
	bool has_sections;
	struct image_section eh_frame, eh_frame_hdr;
	struct search_table search;
	uint8_t *made; /* owned: the entries that no .eh_frame_hdr had */
};

struct unwind_modules;

/* MODULES must outlive it. NULL if there is no memory. */
struct unwind_modules *unwind_modules_new(struct modules *modules, size_t budget_bytes,
                                          size_t open_max);
void unwind_modules_free(struct unwind_modules *um);

CLEANUP(unwind_modules, struct unwind_modules *, unwind_modules_free)

/*
 * The module that WHERE is mapped from, with its file opened and its table built
 * if that can be, and where->bias set. PID has it mapped. NULL if there is no memory. Valid until
 * the next call.
 */
struct unwind_module *unwind_modules_get(struct unwind_modules *um, struct mapping *where,
                                         pid_t pid);

/* Loads what "for libunwind" says. False if there is nothing. */
bool unwind_module_sections(struct unwind_modules *um, struct unwind_module *module);

/* The start of the function (or part of one) that holds ADDRESS; 0 if unknown. */
uint64_t unwind_module_function(struct unwind_modules *um, struct unwind_module *module,
                                uint64_t address);

struct unwind_modules_stats {
	uint64_t tables, table_bytes, build_ns;
};

void unwind_modules_stats(const struct unwind_modules *um, struct unwind_modules_stats *stats);
