/* SPDX-License-Identifier: MIT */
/*
 * All that is known of the code of one mapped ELF file: the file, what was
 * separated from it, and how to ask them.
 *
 * One thread at a time.
 */
#pragma once

#include "base/debug_status.h"
#include "base/module.h"
#include "symbolize/frame/frames.h"

struct debuginfod;
struct demangler;
struct elf_module;
struct error;
struct strings;
struct variable;

/* What modules share; all of it must outlive them. */
struct elf_module_context {
	const char *debug_directories;
	struct debuginfod *debuginfod;  /* NULL: do not ask */
	const char *debuginfod_trouble; /* why it cannot be asked though it should; or "" */
	const char *sections;           /* where decompressed ones are kept; NULL: they are not */
	struct strings *paths;
	struct demangler *names;
};

/*
 * Opens MODULE (of kind ELF or VDSO), which may not be there any more, or hold
 * nothing: then STATUS says so and there are no frames. NULL if there is no memory.
 */
struct elf_module *elf_module_new(const struct module *module,
                                  const struct elf_module_context *context, struct error *err);
void elf_module_free(struct elf_module *m);

CLEANUP(elf_module, struct elf_module *, elf_module_free)

/* Adds what is known of ADDRESSES to FRAMES. -1 if there is no memory. */
int elf_module_resolve(struct elf_module *m, const uint64_t *addresses, size_t count,
                       struct frames *frames, struct error *err);

/* Fills VARIABLES, one for each of ADDRESSES (ascending). -1 if there is no memory. */
int elf_module_variables(struct elf_module *m, const uint64_t *addresses, size_t count,
                         struct variable *variables, struct error *err);

const struct debug_status *elf_module_status(const struct elf_module *m);

/* Completes the status of a module that is not remembered: what to do about missing debug
   information. True if it had to go through the lists of all packages, which takes a millisecond.
 */
bool elf_module_advise(struct elf_module *m);

/* What answers for M depend on: the build-ids of its files, and their sizes. 0: also on what that
   does not tell. To be asked again once addresses were looked up. */
uint64_t elf_module_key(const struct elf_module *m);

/* The build-id as text. False if there is none, or no room. */
bool elf_module_name(const struct elf_module *m, char *name, size_t size);

/* Whether some address that was asked for had a line. */
bool elf_module_has_lines(const struct elf_module *m);

/* What was known when all that was asked so far was looked up, in another run. */
void elf_module_remember(struct elf_module *m, const struct debug_status *status, bool has_lines);
