// SPDX-License-Identifier: MIT
#include "base/cleanup.h"
#include "base/kallsyms_cache.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[] = "/tmp/kallsyms-cache-XXXXXX";
	cleanup_close int fd = mkstemp(path);
	struct kallsyms_table table = { 0 };
	uint64_t key = 1;
	size_t letters = 0;

	if (size >= 16)
		memcpy(&key, data + 8, sizeof(key)); // whatever it says it is of
	if (fd >= 0 && write(fd, data, size) == (ssize_t)size &&
	    kallsyms_cache_read(path, key, &table))
		for (size_t i = 0; i < table.count; i++)
			letters += strlen(kallsyms_table_name(&table, i));
	unlink(path);
	kallsyms_table_fini(&table);
	return letters > size * table.count; // never: each name lies within the file
}
