/* SPDX-License-Identifier: MIT */
/* Small ELF files for tests: add sections, then take the image. */
#pragma once

#include "base/cleanup.h"

#include <elf.h>
#include <stdint.h>
#include <string.h>

struct elf_builder {
	uint8_t bytes[65536];
	size_t used;
	Elf64_Shdr sections[16];
	size_t count;
	char names[512];
	size_t names_used;
};

static inline size_t elf_builder_append(struct elf_builder *b, const void *bytes, size_t size)
{
	size_t at = b->used = (b->used + 7) & ~(size_t)7;

	if (size > sizeof(b->bytes) - at)
		abort();
	memcpy(b->bytes + at, bytes, size);
	b->used += size;
	return at;
}

static inline void elf_builder_init(struct elf_builder *b)
{
	memset(b, 0, sizeof(*b));
	b->used = sizeof(Elf64_Ehdr);
	b->count = 1;
	b->names_used = 1;
}

static inline Elf64_Shdr *elf_builder_add(struct elf_builder *b, const char *name, uint32_t type,
                                          const void *bytes, size_t size)
{
	Elf64_Shdr *section = &b->sections[b->count++];

	*section = (Elf64_Shdr){ .sh_name = (uint32_t)b->names_used,
		                 .sh_type = type,
		                 .sh_size = size };
	strcpy(b->names + b->names_used, name);
	b->names_used += strlen(name) + 1;
	if (type != SHT_NOBITS)
		section->sh_offset = elf_builder_append(b, bytes, size);
	return section;
}

static inline void elf_builder_add_build_id(struct elf_builder *b, const char id[8])
{
	struct {
		Elf64_Nhdr header;
		char name[4];
		char id[8];
	} note = { { 4, 8, NT_GNU_BUILD_ID }, "GNU", "" };

	memcpy(note.id, id, 8);
	elf_builder_add(b, ".note.gnu.build-id", SHT_NOTE, &note, sizeof(note));
}

/* The image is the first USED bytes. */
static inline void elf_builder_finish(struct elf_builder *b)
{
	Elf64_Ehdr header = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1 },
		              .e_machine = EM_X86_64,
		              .e_shentsize = sizeof(Elf64_Shdr) };

	elf_builder_add(b, ".shstrtab", SHT_STRTAB, b->names, sizeof(b->names));
	memcpy(b->bytes + b->sections[b->count - 1].sh_offset, b->names, sizeof(b->names));
	header.e_shnum = (uint16_t)b->count;
	header.e_shstrndx = (uint16_t)(b->count - 1);
	header.e_shoff = elf_builder_append(b, b->sections, b->count * sizeof(b->sections[0]));
	memcpy(b->bytes, &header, sizeof(header));
}
