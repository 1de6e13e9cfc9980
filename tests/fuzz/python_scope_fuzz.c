// SPDX-License-Identifier: MIT
#include "base/python_scope.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

// The first byte is the line, the second how long the name is, which comes next; the rest is the
// file.
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char name[16];

	if (size < 2 + sizeof(name))
		return 0;
	memcpy(name, bytes + 2, sizeof(name));
	name[bytes[1] % sizeof(name)] = '\0';

	// A copy of its own: reading beyond it is found.
	size_t left = size - 2 - sizeof(name);
	char *text = malloc(left ? left : 1);
	if (!text)
		return 0;
	memcpy(text, bytes + 2 + sizeof(name), left);
	free(python_qualified_name(text, left, bytes[0], name));
	free(text);
	return 0;
}
