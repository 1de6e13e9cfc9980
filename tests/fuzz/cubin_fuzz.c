// SPDX-License-Identifier: MIT
#include "base/error.h"
#include "symbolize/cubin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const functions[] = { "_Z5linesPfPKfi", "_Z5otherPf", "" };
	struct cubin_place places[CUBIN_PLACES];
	struct error err;
	cleanup(cubin) struct cubin *c = cubin_new((struct bytes){ data, size }, &err);

	for (int i = 0; c && i < 3; i++)
		for (uint64_t at = 0; at < 0x1000; at += 0x10)
			cubin_find(c, functions[i], at, places);
	return 0;
}
