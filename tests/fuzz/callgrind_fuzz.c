// SPDX-License-Identifier: MIT
#include "base/strings.h"
#include "merge/file/callgrind.h"
#include "merge/profile/counts.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup(strings) struct strings *strings = strings_new();
	struct counts counts = { 0 };
	uint64_t sum = 0;

	if (!strings)
		return 0;
	callgrind_read((struct bytes){ data, size }, &counts, strings, NULL);
	for (uint32_t i = 0; i < counts.line_count; i++) {
		if (!counts.lines[i].function || counts.lines[i].function > counts.function_count)
			abort();
		sum += counts.lines[i].self;
	}
	if (sum != counts.all)
		abort();
	counts_fini(&counts);
	return 0;
}
