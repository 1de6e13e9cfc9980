// SPDX-License-Identifier: MIT
// A file of names that earlier runs have left, or whoever may write into the directory. It begins
// as those of today do, so that stored inputs are read at all, unless its first byte is 0.
#include "symbolize/names_cache.h"
#include "tests/fuzz/input_file.h"

#include "base/cleanup.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAGIC_BYTES 8 // at the beginning of a file; behind them it has its key

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool read_magic(uint8_t magic[MAGIC_BYTES])
{
	const struct answers none = { 0 };
	const struct names_cache_facts facts = { 0 };
	const char *path = input_file(NULL, 0);

	if (!path)
		return false;
	char written[64];
	snprintf(written, sizeof(written), "%s.names", path);
	names_cache_write(written, 1, &none, &facts);
	cleanup_close int fd = open(written, O_RDONLY | O_CLOEXEC);
	unlink(written);
	return fd >= 0 && read(fd, magic, MAGIC_BYTES) == MAGIC_BYTES;
}

static size_t letters(const char *text)
{
	return text ? strlen(text) : 0;
}

// Of the symbol that has most.
static size_t most_letters(const struct answers *answers)
{
	size_t most = 0;

	for (size_t i = 0; i < answers->count; i++)
		for (uint32_t k = 0; k < answers->items[i].chain.count; k++) {
			const struct symbol *symbol = &answers->items[i].chain.symbols[k];
			size_t all = letters(symbol->function) + letters(symbol->file) +
			             letters(symbol->declared);
			most = all > most ? all : most;
		}
	return most;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t magic[MAGIC_BYTES];
	struct answers answers = { 0 };
	struct names_cache_facts facts;
	uint64_t key = 1;

	if (!*magic && !read_magic(magic))
		abort();
	cleanup_free uint8_t *file = malloc(size + 1);
	if (!file)
		return 0;
	memcpy(file, data, size);
	if (size >= MAGIC_BYTES && *file)
		memcpy(file, magic, MAGIC_BYTES);
	if (size >= MAGIC_BYTES + sizeof(key))
		memcpy(&key, file + MAGIC_BYTES, sizeof(key)); // whatever it says it is of
	const char *path = input_file(file, size);
	if (!path)
		abort();
	cleanup(stored_names) struct stored_names *s =
		names_cache_read(path, key, &answers, &facts);
	if (!s && answers.count)
		abort();
	if (most_letters(&answers) > 3 * size) // each lies within the file
		abort();
	answers_fini(&answers);
	return 0;
}
