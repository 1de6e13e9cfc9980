// SPDX-License-Identifier: MIT
#include "symbolize/jit/jitdump.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t addresses[] = { 0, 1, 0x1000, 0x1008, 0x2000, 0x9000, UINT64_MAX };
	struct jitdump_hit hits[7];

	jitdump_find((struct bytes){ data, size }, addresses, 7, hits);
	return 0;
}
