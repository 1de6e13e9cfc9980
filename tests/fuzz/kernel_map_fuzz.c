// SPDX-License-Identifier: MIT
// The texts of /proc that tell why a thread waits: kallsyms, and the system call it is in.
#include "sampler/wait/kernel_map.h"
#include "sampler/wait/probe.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_kallsyms(const uint8_t *data, size_t size)
{
	static const uint64_t addresses[] = { 0, 1, UINT64_C(0xffffffff81000010), UINT64_MAX };
	char path[64];
	// One file for all inputs: making one takes longer than reading it.
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("kallsyms", MFD_CLOEXEC);
	if (fd < 0 || pwrite(fd, data, size, 0) != (ssize_t)size || ftruncate(fd, (off_t)size) < 0)
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	cleanup(kernel_map) struct kernel_map *m = kernel_map_open(path, NULL);

	if (m && kernel_map_wait(m, addresses, 4).cause >= METRIC_COUNT)
		abort();
}

static void fuzz_call(const uint8_t *data, size_t size)
{
	cleanup_free char *text = malloc(size + 1);
	struct probe_call call;

	if (!text)
		return;
	memcpy(text, data, size);
	text[size] = '\0';
	if (probe_parse(text, &call) && (call.number < -1 || !call.sp))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_kallsyms(data, size);
	fuzz_call(data, size);
	return 0;
}
