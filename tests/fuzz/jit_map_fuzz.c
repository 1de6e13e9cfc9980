// SPDX-License-Identifier: MIT
#include "base/cleanup.h"
#include "symbolize/jit/jit_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t addresses[] = { 0, 1, 0x1000, 0x1008, 0x2000, UINT64_MAX };
	struct jit_name names[6], file;
	int line;

	if (jit_map_find((struct bytes){ data, size }, addresses, 6, names) < 0)
		return 0;
	for (size_t i = 0; i < 6; i++)
		if (names[i].text)
			jit_map_source(&names[i], &file, &line);
	return 0;
}
