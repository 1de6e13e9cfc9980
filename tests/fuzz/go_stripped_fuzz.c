// SPDX-License-Identifier: MIT
#include "sampler/go/go_stripped.h"

#include <libelf.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct go_layout layout = { 0 };
	// libelf may want to change what it reads.
	char *copy = malloc(size + 1);

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	elf_version(EV_CURRENT);
	Elf *elf = elf_memory(copy, size);
	if (elf && elf_kind(elf) == ELF_K_ELF)
		go_stripped_read(elf, &layout);
	elf_end(elf);
	free(copy);
	return 0;
}
