// SPDX-License-Identifier: MIT
#include "tracer/agent/trace/symbols.h"

#include <string.h>

static const void *part(const void *file, size_t bytes, uint64_t offset, uint64_t size)
{
	if (offset > bytes || size > bytes - offset || offset & 7)
		return NULL;
	return (const uint8_t *)file + offset;
}

static const Elf64_Ehdr *header(const void *file, size_t bytes)
{
	const Elf64_Ehdr *e = part(file, bytes, 0, sizeof(*e));

	if (!e || memcmp(e->e_ident, ELFMAG, SELFMAG) != 0 || e->e_ident[EI_CLASS] != ELFCLASS64 ||
	    e->e_ident[EI_DATA] != ELFDATA2LSB || e->e_machine != EM_X86_64)
		return NULL;
	return e;
}

static const Elf64_Shdr *sections(const void *file, size_t bytes, size_t *count)
{
	const Elf64_Ehdr *e = header(file, bytes);

	if (!e || e->e_shentsize != sizeof(Elf64_Shdr))
		return NULL;
	const Elf64_Shdr *table = part(file, bytes, e->e_shoff, sizeof(*table));
	if (!table)
		return NULL;
	*count = e->e_shnum ? e->e_shnum : table->sh_size;
	if (*count > bytes / sizeof(*table))
		return NULL;
	return part(file, bytes, e->e_shoff, *count * sizeof(*table));
}

static bool take(struct symbols *s, const Elf64_Shdr *table, size_t count, const Elf64_Shdr *of)
{
	if (of->sh_entsize != sizeof(Elf64_Sym) || of->sh_link >= count)
		return false;
	const Elf64_Shdr *strings = &table[of->sh_link];
	s->symbols = part(s->file, s->file_bytes, of->sh_offset, of->sh_size);
	s->count = of->sh_size / sizeof(Elf64_Sym);
	if (strings->sh_type != SHT_STRTAB || !strings->sh_size ||
	    strings->sh_offset > s->file_bytes ||
	    strings->sh_size > s->file_bytes - strings->sh_offset)
		return false;
	s->strings = (const char *)s->file + strings->sh_offset;
	s->string_bytes = strings->sh_size;
	return s->symbols && s->strings[s->string_bytes - 1] == '\0';
}

bool symbols_open(struct symbols *s, const void *file, size_t bytes)
{
	size_t count = 0;
	const Elf64_Shdr *table = sections(file, bytes, &count);

	*s = (struct symbols){ .file = file, .file_bytes = bytes };
	for (size_t i = 0; table && i < count; i++)
		if (table[i].sh_type == SHT_SYMTAB && take(s, table, count, &table[i]))
			return s->all = true;
	for (size_t i = 0; table && i < count; i++)
		if (table[i].sh_type == SHT_DYNSYM && take(s, table, count, &table[i]))
			return true;
	return false;
}

bool symbols_function(const struct symbols *s, size_t index, struct symbol *out)
{
	const Elf64_Sym *symbol = &s->symbols[index];

	if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF ||
	    symbol->st_shndx == SHN_ABS || !symbol->st_value ||
	    symbol->st_name >= s->string_bytes || !s->strings[symbol->st_name])
		return false;
	*out = (struct symbol){ s->strings + symbol->st_name, symbol->st_value, symbol->st_size };
	return true;
}

uint64_t symbols_next(const struct symbols *s, uint64_t address)
{
	uint64_t next = UINT64_MAX;

	for (size_t i = 0; i < s->count; i++) {
		const Elf64_Sym *symbol = &s->symbols[i];
		unsigned type = ELF64_ST_TYPE(symbol->st_info);
		if (symbol->st_shndx != SHN_UNDEF && type <= STT_FUNC &&
		    symbol->st_value > address && symbol->st_value < next)
			next = symbol->st_value;
	}
	return next;
}

bool symbols_section(const void *file, size_t bytes, const char *name)
{
	const Elf64_Ehdr *e = header(file, bytes);
	size_t count = 0, length = strlen(name) + 1;
	const Elf64_Shdr *table = sections(file, bytes, &count);

	if (!table || e->e_shstrndx >= count)
		return false;
	const Elf64_Shdr *names = &table[e->e_shstrndx];
	if (names->sh_offset > bytes || names->sh_size > bytes - names->sh_offset)
		return false;
	const char *text = (const char *)file + names->sh_offset;
	for (size_t i = 0; i < count; i++)
		if (table[i].sh_name < names->sh_size &&
		    length <= names->sh_size - table[i].sh_name &&
		    memcmp(text + table[i].sh_name, name, length) == 0)
			return true;
	return false;
}

const uint8_t *symbols_code(const void *file, size_t bytes, uint64_t address, size_t size)
{
	const Elf64_Ehdr *e = header(file, bytes);

	if (!e || e->e_phentsize != sizeof(Elf64_Phdr))
		return NULL;
	const Elf64_Phdr *segments =
		part(file, bytes, e->e_phoff, (uint64_t)e->e_phnum * sizeof(*segments));
	for (unsigned i = 0; segments && i < e->e_phnum; i++) {
		const Elf64_Phdr *p = &segments[i];
		uint64_t into = address - p->p_vaddr;
		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) || into >= p->p_filesz ||
		    size > p->p_filesz - into)
			continue;
		uint64_t offset = p->p_offset + into;
		if (offset > bytes || size > bytes - offset)
			return NULL;
		return (const uint8_t *)file + offset;
	}
	return NULL;
}
