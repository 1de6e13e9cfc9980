// SPDX-License-Identifier: MIT
#include "base/python_lines.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

// The first byte is the version's, the next two the instruction; the rest is the table.
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	if (size < 3)
		return 0;
	uint32_t version = 0x0308 + bytes[0] % 8;
	int16_t instruction;
	memcpy(&instruction, bytes + 1, sizeof(instruction));

	// A copy of its own: reading beyond it is found.
	uint8_t *table = malloc(size - 3 + 1);
	if (!table)
		return 0;
	memcpy(table, bytes + 3, size - 3);
	uint8_t *exact = realloc(table, size > 3 ? size - 3 : 1);
	if (exact)
		python_line(version, exact, size - 3, 1, instruction);
	free(exact ? exact : table);
	return 0;
}
