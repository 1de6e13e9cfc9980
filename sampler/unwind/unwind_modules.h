/* SPDX-License-Identifier: MIT */
/*
 * What the unwinder knows of each module: its file, and its table with what
 * that is made of. Opened at the first frame in the module; the least recently
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

struct unwind_module {
	uint32_t id;
	struct image *image;     /* NULL: no file */
	struct cfi_table *table; /* of .eh_frame, then .debug_frame; NULL: no file */
	pid_t failed_pid;        /* the file could not be had through this process */
	uint64_t used;           /* when, on the owner's clock */
	size_t bytes;
	struct image_section eh_frame, eh_frame_hdr; /* for libunwind */
};

struct unwind_modules;

/* MODULES must outlive it. NULL if there is no memory. */
struct unwind_modules *unwind_modules_new(struct modules *modules, size_t budget_bytes,
                                          size_t open_max);
void unwind_modules_free(struct unwind_modules *um);

CLEANUP(unwind_modules, struct unwind_modules *, unwind_modules_free)

/*
 * The module that WHERE is mapped from, with its file opened and its table started if that can
 * be, and where->bias set. PID has it mapped. NULL if there is no memory. Valid until the next
 * call.
 */
struct unwind_module *unwind_modules_get(struct unwind_modules *um, struct mapping *where,
                                         pid_t pid);

/* The rule at ADDRESS (in the module); never NULL. Other modules may go for it. Valid until the
   next call. */
const struct cfi_rule *unwind_modules_rule(struct unwind_modules *um, struct unwind_module *module,
                                           uint64_t address);

/* The search table of MODULE's .eh_frame; NULL if it has none. */
static inline const struct cfi_search *unwind_module_search(const struct unwind_module *module)
{
	const struct cfi_search *search = module->table ? &module->table->sections[0].search : NULL;

	return search && search->count ? search : NULL;
}

/* The start of the function (or part of one) that holds ADDRESS; 0 if unknown. */
uint64_t unwind_module_function(const struct unwind_module *module, uint64_t address);

struct unwind_modules_stats {
	uint64_t tables, table_bytes, build_ns;
};

void unwind_modules_stats(const struct unwind_modules *um, struct unwind_modules_stats *stats);
