/* SPDX-License-Identifier: MIT */
/*
 * Names of functions and of data from the symbol tables of an ELF file.
 *
 * Each table is read once for all addresses and never sorted or copied.
 */
#pragma once

#include "symbolize/elf/elf_file.h"

struct symbol_name {
	const char *text; /* in the file, mangled, not ended by NUL; NULL if unknown */
	uint32_t length;
	bool is_plt;    /* the stub that calls it */
	uint64_t start; /* of the function; of a stub 0 */
	/* The source file of data that only this file can name, ended by NUL; NULL if unknown. */
	const char *file;
};

/*
 * Fills those of NAMES (one for each of ADDRESSES, ascending) that are unknown
 * yet from the table SECTION, ".symtab" or ".dynsym". A symbol that covers the
 * address comes first, of several the innermost, of aliases the exported one with the
 * fewest underscores in front.
 * The result says whether there is such a table; -1 if there is no memory.
 */
int elf_symbols_find(struct elf_file *elf, const char *section, const uint64_t *addresses,
                     size_t count, struct symbol_name *names);

/* Whether SECTION names a function of the file's own: a table of imports alone does not. */
bool elf_symbols_has_functions(struct elf_file *elf, const char *section);

/* The same as elf_symbols_find() for variables: only symbols that cover the address. */
int elf_symbols_find_data(struct elf_file *elf, const char *section, const uint64_t *addresses,
                          size_t count, struct symbol_name *names);

/* The same for the stubs of the procedure linkage table (x86-64). */
void elf_symbols_find_plt(struct elf_file *elf, const uint64_t *addresses, size_t count,
                          struct symbol_name *names);
