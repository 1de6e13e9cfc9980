// SPDX-License-Identifier: MIT
// Where functions begin in a file that is anything at all, and what they jump to or compare with.
#include "symbolize/elf/function_start.h"

#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool count(void *context, uint64_t to)
{
	uint64_t *jumps = context;

	(void)to;
	return ++*jumps < 1000;
}

static void count_from(void *context, uint64_t from, uint64_t to)
{
	(void)from;
	count(context, to);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t starts[64], all = 0;
	cleanup_close int fd = memfd_create("module", MFD_CLOEXEC);
	const struct module module = {
		.id = 1, .kind = MODULE_ELF, .path = "/nonexistent/module", .fd = fd
	};

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		return 0;
	cleanup(function_starts) struct function_starts *f = function_starts_open(&module);
	for (uint64_t i = 0; f && i < 64; i++) {
		uint64_t address = function_starts_address(f, 0x1000 + i * 16), jumps = 0;
		uint64_t start = function_starts_find(f, address + i);
		function_starts_jumps(f, start, count, &jumps);
		function_starts_jumps(f, i % 2 ? ~i : 0x401000 + i * 16, count, &jumps);
		function_starts_compares(f, start, count, &jumps);
		function_starts_compares(f, 0x1000 + i * 16, count, &jumps);
		function_starts_exported(f, start);
		function_starts_jump(f, start);
		function_starts_code(f, start, 100);
		starts[i] = 0x1000 + i * 16;
	}
	if (f)
		function_starts_jumps_to(f, starts, 64, count_from, &all);
	return 0;
}
