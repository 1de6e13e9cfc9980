// SPDX-License-Identifier: MIT
#include "tests/fuzz/input_file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[32];

static void remove_file(void)
{
	unlink(path);
}

static int make_file(void)
{
	strcpy(path, access("/dev/shm", W_OK) == 0 ? "/dev/shm/fuzz-XXXXXX" : "/tmp/fuzz-XXXXXX");
	int fd = mkstemp(path);
	if (fd >= 0)
		atexit(remove_file);
	return fd;
}

const char *input_file(const uint8_t *data, size_t size)
{
	static int fd = -1;

	if (fd < 0 && (fd = make_file()) < 0)
		return NULL;
	return pwrite(fd, data, size, 0) == (ssize_t)size && ftruncate(fd, (off_t)size) == 0 ? path
	                                                                                     : NULL;
}
