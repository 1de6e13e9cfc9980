/* SPDX-License-Identifier: MIT */
/* An ELF file with a symbol table that is large enough to be read by its order. */
#pragma once

#include "symbolize/elf/elf_file.h"
#include "symbolize/elf/symbol_order.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#define MANY_SYMBOLS (SYMBOL_ORDER_LEAST + SYMBOL_ORDER_LEAST / 10)
#define MANY_SPAN    UINT64_C(0x100000) /* of the addresses, from 0 on */

static inline uint64_t many_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

struct many_symbols {
	Elf64_Ehdr header;
	struct {
		Elf64_Nhdr header;
		char name[4], id[8];
	} note;
	Elf64_Sym
		symbols[MANY_SYMBOLS]; /* in no order; functions and others, many of them nested */
	char names[8 * MANY_SYMBOLS];
	char section_names[64];
	Elf64_Shdr sections[6];
};

/* free() it after the file that is made of it. NULL if there is no memory. */
static inline struct many_symbols *many_symbols_new(void)
{
	static const char section_names[] = "\0.text\0.symtab\0.strtab\0.note.id\0.names";
	struct many_symbols *m = calloc(1, sizeof(*m));
	uint64_t state = 88172645463325252;

	if (!m)
		return NULL;
	m->header = (Elf64_Ehdr){ .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1 },
		                  .e_machine = EM_X86_64,
		                  .e_shoff = offsetof(struct many_symbols, sections),
		                  .e_shentsize = sizeof(Elf64_Shdr),
		                  .e_shnum = 6,
		                  .e_shstrndx = 5 };
	m->note.header = (Elf64_Nhdr){ 4, 8, NT_GNU_BUILD_ID };
	memcpy(m->note.name, "GNU", 4);
	memcpy(m->note.id, "a build.", 8);
	memcpy(m->section_names, section_names, sizeof(section_names));
	for (uint32_t i = 1; i < MANY_SYMBOLS; i++) {
		uint64_t kind = many_random(&state) % 8;
		for (uint32_t k = 0, rest = i; k < 5; k++, rest /= 26)
			m->names[8 * i + k] = (char)('a' + rest % 26);
		m->symbols[i] = (Elf64_Sym){
			.st_name = 8 * i,
			.st_info = ELF64_ST_INFO(kind & 1 ? STB_LOCAL : STB_GLOBAL,
			                         kind ? STT_FUNC : STT_OBJECT),
			.st_shndx = 1,
			.st_value = many_random(&state) % MANY_SPAN,
			.st_size = kind == 1 ? 0 : many_random(&state) % (kind == 2 ? 4096 : 256),
		};
	}
	m->sections[1] = (Elf64_Shdr){ .sh_name = 1,
		                       .sh_type = SHT_NOBITS,
		                       .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
		                       .sh_size = MANY_SPAN };
	m->sections[2] = (Elf64_Shdr){ .sh_name = 7,
		                       .sh_type = SHT_SYMTAB,
		                       .sh_offset = offsetof(struct many_symbols, symbols),
		                       .sh_size = sizeof(m->symbols),
		                       .sh_link = 3 };
	m->sections[3] = (Elf64_Shdr){ .sh_name = 15,
		                       .sh_type = SHT_STRTAB,
		                       .sh_offset = offsetof(struct many_symbols, names),
		                       .sh_size = sizeof(m->names) };
	m->sections[4] = (Elf64_Shdr){ .sh_name = 23,
		                       .sh_type = SHT_NOTE,
		                       .sh_offset = offsetof(struct many_symbols, note),
		                       .sh_size = sizeof(m->note) };
	m->sections[5] = (Elf64_Shdr){ .sh_name = 32,
		                       .sh_type = SHT_STRTAB,
		                       .sh_offset = offsetof(struct many_symbols, section_names),
		                       .sh_size = sizeof(m->section_names) };
	return m;
}

static inline struct elf_file *many_symbols_open(struct many_symbols *m)
{
	return elf_file_from_memory((struct bytes){ (const uint8_t *)m, sizeof(*m) }, NULL, NULL);
}
