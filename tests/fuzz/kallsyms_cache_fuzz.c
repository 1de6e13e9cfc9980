// SPDX-License-Identifier: MIT
#include "base/kallsyms_cache.h"
#include "tests/fuzz/input_file.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *path = input_file(data, size);
	struct kallsyms_table table = { 0 };
	uint64_t key = 1;
	size_t letters = 0;

	if (!path)
		abort();
	if (size >= 16)
		memcpy(&key, data + 8, sizeof(key)); // whatever it says it is of
	if (kallsyms_cache_read(path, key, &table))
		for (size_t i = 0; i < table.count; i++)
			letters += strlen(kallsyms_table_name(&table, i));
	if (letters > size * table.count) // each name lies within the file
		abort();
	kallsyms_table_fini(&table);
	return 0;
}
