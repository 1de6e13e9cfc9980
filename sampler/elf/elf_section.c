// SPDX-License-Identifier: MIT
#include "sampler/elf/elf_section.h"

#include <gelf.h>
#include <string.h>

Elf_Scn *elf_section_find(Elf *elf, const char *name)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) < 0)
		return NULL;
	while ((section = elf_nextscn(elf, section))) {
		const char *own = gelf_getshdr(section, &header)
		                          ? elf_strptr(elf, names, header.sh_name)
		                          : NULL;
		if (own && strcmp(own, name) == 0)
			return section;
	}
	return NULL;
}

const Elf_Data *elf_section_data(Elf_Scn *section, uint64_t *address)
{
	GElf_Shdr header;

	if (!section || !gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS)
		return NULL;
	const Elf_Data *data = elf_getdata(section, NULL);
	if (!data || !data->d_buf || !data->d_size)
		return NULL;
	if (address)
		*address = header.sh_addr;
	return data;
}
