// SPDX-License-Identifier: MIT
// All of the symbolizer on a mapped file that is anything at all.
#include "symbolize/symbolizer.h"

#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum {
		COUNT = 96
	};
	static const struct symbolizer_options options = { .debug_directories = "/nonexistent" };
	uint64_t addresses[COUNT];
	struct symbol_chain chains[COUNT];
	cleanup_close int fd = memfd_create("module", MFD_CLOEXEC);
	struct module module = {
		.id = 1, .kind = MODULE_ELF, .path = "/nonexistent/module", .fd = fd
	};

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		return 0;
	// Where small programs have their code.
	for (size_t i = 0; i < COUNT; i++)
		addresses[i] = i < COUNT / 2 ? 0x1000 + i * 8 : 0x401000 + (i - COUNT / 2) * 8;
	cleanup(symbolizer) struct symbolizer *s = symbolizer_new(&options, NULL);
	// A second look goes other ways than the first.
	if (s &&
	    symbolizer_resolve(s, &module, addresses + COUNT / 4, COUNT / 2, chains, NULL) == 0)
		symbolizer_resolve(s, &module, addresses, COUNT, chains, NULL);
	return 0;
}
