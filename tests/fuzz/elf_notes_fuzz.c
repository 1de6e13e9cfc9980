// SPDX-License-Identifier: MIT
// The section table, the notes and what is compressed, of a file that is anything at all.
#include "base/cleanup.h"
#include "symbolize/elf/debug_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup(elf_file) struct elf_file *elf =
		elf_file_from_memory((struct bytes){ data, size }, NULL, NULL);

	if (!elf)
		return 0;
	for (size_t i = 0; i < elf_file_section_count(elf) && i < 256; i++)
		elf_file_contents(elf, elf_file_section(elf, i));
	elf_file_build_id(elf);
	elf_file_lowest_code(elf);
	elf_file_close(debug_file_open_minimal(elf));
	return 0;
}
