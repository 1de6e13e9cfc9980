// SPDX-License-Identifier: MIT
#include "base/go_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t addresses[] = {
		0, 0x401000, 0x401009, 0x401010, 0x40101f, UINT64_MAX
	};
	struct go_place places[6];
	size_t length = 0;

	go_table_find((struct bytes){ data, size }, 0x401000, addresses, 6, places);
	for (size_t i = 0; i < 6; i++) {
		length += places[i].function ? strlen(places[i].function) : 0;
		length += places[i].file ? strlen(places[i].file) : 0;
		length += places[i].declared ? strlen(places[i].declared) : 0;
	}
	return length > 6 * 3 * size;
}
