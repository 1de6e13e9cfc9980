// SPDX-License-Identifier: MIT
#include "merge/record/cubins.h"

#include "base/error.h"
#include "merge/profile/profile.h"
#include "tracer/protocol.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static uint8_t *load(int fd, size_t size)
{
	cleanup_free uint8_t *bytes = malloc(size);
	size_t used = 0;

	while (bytes && used < size) {
		ssize_t n = read(fd, bytes + used, size - used);
		if (n <= 0)
			return NULL;
		used += (size_t)n;
	}
	return steal(bytes);
}

static void name_lines(struct profile *p, const char *directory, uint64_t crc)
{
	char path[PATH_MAX];
	struct stat status;
	struct error err;

	snprintf(path, sizeof(path), "%s/" PROTOCOL_CUBIN_FILE, directory, (unsigned long long)crc);
	cleanup_close int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_nlink != 1 ||
	    status.st_size <= 0 || (size_t)status.st_size > PROTOCOL_CUBIN_BYTES)
		return;
	cleanup_free uint8_t *bytes = load(fd, (size_t)status.st_size);
	if (bytes)
		profile_name_gpu_lines(p, crc, (struct bytes){ bytes, (size_t)status.st_size },
		                       &err);
}

void cubins_name_lines(struct profile *p, const char *directory)
{
	for (uint64_t crc = 0; profile_next_cubin(p, &crc);)
		name_lines(p, directory, crc);
}
