// SPDX-License-Identifier: MIT
#include "base/error.h"
#include "symbolize/cubin.h"

#include <zlib.h>

#define CODE_BYTES        0x1000
#define INSTRUCTION_BYTES 0x10
#define STEP              8 // instructions: each is asked for in one input of so many

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const functions[] = { "_Z5linesPfPKfi", "_Z5otherPf", "" };
	struct cubin_place places[CUBIN_PLACES];
	struct error err;
	cleanup(cubin) struct cubin *c = cubin_new((struct bytes){ data, size }, &err);

	if (!c)
		return 0;
	uint64_t first = crc32(0, data, (uInt)size) % STEP * INSTRUCTION_BYTES;
	for (int i = 0; i < 3; i++) {
		cubin_find(c, functions[i], 0, places);
		for (uint64_t at = first; at < CODE_BYTES; at += STEP * INSTRUCTION_BYTES)
			cubin_find(c, functions[i], at, places);
	}
	return 0;
}
