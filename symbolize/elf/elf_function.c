// SPDX-License-Identifier: MIT
#include "symbolize/elf/elf_function.h"

#include "base/error.h"
#include "symbolize/elf/elf_file.h"
#include "symbolize/elf/elf_symbols.h"

#include <elf.h>
#include <stdio.h>

static struct elf_file *open_module(const struct module *module)
{
	struct error ignored;

	if (module->kind != MODULE_ELF)
		return NULL;
	return module->fd >= 0 ? elf_file_open_fd(module->fd, &ignored)
	                       : elf_file_open(module->path, &ignored);
}

bool elf_function_name(const struct module *module, uint64_t address, char *name, size_t size)
{
	cleanup(elf_file) struct elf_file *elf = open_module(module);
	struct symbol_name found = { 0 };

	if (!elf)
		return false;
	if (elf_symbols_find(elf, ".symtab", &address, 1, &found) < 0)
		return false;
	if (!found.text && elf_symbols_find(elf, ".dynsym", &address, 1, &found) < 0)
		return false;
	if (!found.text)
		return false;
	snprintf(name, size, "%.*s", (int)found.length, found.text);
	return true;
}

size_t elf_code_sections(const struct module *module, struct code_section *sections, size_t max)
{
	cleanup(elf_file) struct elf_file *elf = open_module(module);
	size_t found = 0;

	for (size_t i = 0; elf && found < max && i < elf_file_section_count(elf); i++) {
		const struct elf_section *section = elf_file_section(elf, i);
		if (!(section->flags & SHF_EXECINSTR))
			continue;
		struct code_section *code = &sections[found++];
		snprintf(code->name, sizeof(code->name), "%s", section->name);
		code->address = section->address;
		code->size = section->size;
	}
	return found;
}
