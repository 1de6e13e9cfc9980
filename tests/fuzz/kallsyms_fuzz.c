// SPDX-License-Identifier: MIT
#include "base/kallsyms.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[64];
	// One file for all inputs: making one takes longer than reading it.
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("kallsyms", MFD_CLOEXEC);
	if (fd < 0 || pwrite(fd, data, size, 0) != (ssize_t)size || ftruncate(fd, (off_t)size) < 0)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	cleanup(kallsyms) struct kallsyms *k = kallsyms_new(path);
	if (!k || kallsyms_load(k, NULL) < 0)
		return 0;
	kallsyms_find(k, 0xffffffff81000010);
	kallsyms_find(k, 0);
	kallsyms_find(k, UINT64_MAX);
	return 0;
}
