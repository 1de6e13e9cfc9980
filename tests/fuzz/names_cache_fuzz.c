// SPDX-License-Identifier: MIT
// A file of names that earlier runs have left, or whoever may write into the directory.
#include "base/cleanup.h"
#include "symbolize/names_cache.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t letters(const char *text)
{
	return text ? strlen(text) : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[] = "/tmp/names-cache-XXXXXX";
	cleanup_close int fd = mkstemp(path);
	struct answers answers = { 0 };
	struct names_cache_facts facts;
	uint64_t key = 1;
	size_t most = 0;

	if (size >= 16)
		memcpy(&key, data + 8, sizeof(key)); // whatever it says it is of
	if (fd >= 0 && write(fd, data, size) == (ssize_t)size) {
		cleanup(stored_names) struct stored_names *s =
			names_cache_read(path, key, &answers, &facts);
		for (size_t i = 0; i < answers.count; i++)
			for (uint32_t k = 0; k < answers.items[i].chain.count; k++) {
				const struct symbol *symbol = &answers.items[i].chain.symbols[k];
				size_t all = letters(symbol->function) + letters(symbol->file) +
				             letters(symbol->declared);
				most = all > most ? all : most;
			}
		answers_fini(&answers);
	}
	unlink(path);
	if (most > 3 * size) // each lies within the file
		abort();
	return 0;
}
