// SPDX-License-Identifier: MIT
// ELF files of any kind, as the agent looks for functions in them.
#include "tracer/agent/trace/symbols.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct symbols s;
	struct symbol symbol;
	volatile uint8_t sink = 0;
	uint8_t *copy = malloc(size ? size : 1);

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	symbols_section(copy, size, ".gopclntab");
	if (symbols_open(&s, copy, size))
		for (size_t i = 0; i < s.count && i < 1000; i++) {
			if (!symbols_function(&s, i, &symbol))
				continue;
			sink += (uint8_t)strlen(symbol.name);
			const uint8_t *code = symbols_code(copy, size, symbol.address, symbol.size);
			if (code && symbol.size)
				sink += code[symbol.size - 1];
			symbols_next(&s, symbol.address);
		}
	free(copy);
	return 0;
}
