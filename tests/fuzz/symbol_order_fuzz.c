// SPDX-License-Identifier: MIT
// The order of a symbol table that an earlier run has left, or whoever may write into the
// directory.
#include "base/cleanup.h"
#include "symbolize/elf/elf_symbols.h"
#include "tests/support/many_symbols.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char directory[64];
static char path[PATH_MAX]; // of the kept order

static void find(struct many_symbols *many)
{
	cleanup(elf_file) struct elf_file *elf = many_symbols_open(many);
	struct symbol_name names[64] = { 0 };
	uint64_t addresses[64];

	if (!elf)
		abort();
	elf_file_keep_in(elf, directory);
	for (size_t i = 0; i < 64; i++)
		addresses[i] = (i + 1) * (MANY_SPAN / 65);
	elf_symbols_find(elf, ".symtab", addresses, 64, names);
	for (size_t i = 0; i < 64; i++)
		if (names[i].text &&
		    (names[i].text < many->names ||
		     names[i].text + names[i].length >= many->names + sizeof(many->names)))
			abort();
}

static void remove_kept(void)
{
	unlink(path);
	rmdir(directory);
}

static struct many_symbols *begin(void)
{
	struct many_symbols *many = many_symbols_new();

	const char *shm = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";

	snprintf(directory, sizeof(directory), "%s/symbol-order-fuzz-%d", shm, (int)getpid());
	if (!many)
		abort();
	find(many);
	DIR *d = opendir(directory);
	for (const struct dirent *entry; d && (entry = readdir(d));)
		if (entry->d_name[0] != '.')
			snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
	if (!d || !path[0] || atexit(remove_kept))
		abort();
	closedir(d);
	return many;
}

// The input comes again and again, until it is as long as the order.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct many_symbols *many;
	static uint8_t order[MANY_SYMBOLS * sizeof(uint32_t)];

	if (!many)
		many = begin();
	if (!size)
		return 0;
	for (size_t i = 0; i < sizeof(order); i++)
		order[i] = data[i % size];
	cleanup_close int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (fd < 0 || write(fd, order, sizeof(order)) != (ssize_t)sizeof(order))
		abort();
	find(many);
	return 0;
}
