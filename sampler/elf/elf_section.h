/* SPDX-License-Identifier: MIT */
/*
 * Sections of ELF files by their names. No state; the file is read as foreign bytes are.
 */
#pragma once

#include <libelf.h>
#include <stdint.h>

/* NULL: ELF has no section called NAME. */
Elf_Scn *elf_section_find(Elf *elf, const char *name);

/* What is in SECTION, which may be NULL; *ADDRESS (NULL is fine) is where it is loaded. NULL:
   there is nothing. It lives as long as the file is open. */
const Elf_Data *elf_section_data(Elf_Scn *section, uint64_t *address);
