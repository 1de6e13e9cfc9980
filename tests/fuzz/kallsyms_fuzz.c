// SPDX-License-Identifier: MIT
#include "symbolize/kernel_symbols.h"

#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[64];
	cleanup_close int fd = memfd_create("kallsyms", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	cleanup(kernel_symbols) struct kernel_symbols *k = kernel_symbols_new(path, NULL);
	if (!k)
		return 0;
	kernel_symbols_find(k, 0xffffffff81000010);
	kernel_symbols_find(k, 0);
	kernel_symbols_find(k, UINT64_MAX);
	return 0;
}
