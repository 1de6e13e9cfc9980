// SPDX-License-Identifier: MIT
#include "base/go_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// The data of functions is the end of the same bytes.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t addresses[] = {
		0, 0x401000, 0x401009, 0x401010, 0x40101f, UINT64_MAX
	};
	const struct bytes table = { data, size };
	const struct bytes funcs = bytes_slice(table, size - size / 4, size);
	struct go_place places[GO_INLINED_MAX];
	size_t length = go_table_has(table, 0x401000, funcs);

	for (size_t i = 0; i < 6; i++) {
		size_t count = go_table_find(table, 0x401000, funcs, addresses[i], places);
		for (size_t k = 0; k < count; k++) {
			length += places[k].function ? strlen(places[k].function) : 0;
			length += places[k].file ? strlen(places[k].file) : 0;
			length += places[k].declared ? strlen(places[k].declared) : 0;
		}
	}
	return length > 6 * 3 * (uint64_t)GO_INLINED_MAX * size + 1;
}
