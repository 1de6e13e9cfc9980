// SPDX-License-Identifier: MIT
// Writes a file through to the disk and reads it back past the cache.
#include "truth.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCK (1 << 20)

static int at_work;

static NOINLINE uint64_t work(uint64_t n)
{
	uint64_t x = n;

	SPIN(x, n, at_work);
	return x;
}

static NOINLINE int store(int fd, const char *block)
{
	ssize_t written = pwrite(fd, block, BLOCK, 0);

	return written == BLOCK ? fsync(fd) : -1;
}

static NOINLINE ssize_t load(int fd, char *block)
{
	posix_fadvise(fd, 0, BLOCK, POSIX_FADV_DONTNEED);
	ssize_t got = pread(fd, block, BLOCK, 0);

	NOT_LAST();
	return got;
}

int main(void)
{
	static char block[BLOCK];
	const char *directory = getenv("TMPDIR");
	uint64_t n = truth_steps(50);
	char path[4096];

	snprintf(path, sizeof(path), "%s/truth-files-XXXXXX", directory ? directory : "/tmp");
	int fd = mkstemp(path);
	if (fd < 0) {
		perror(path);
		return 1;
	}
	unlink(path);
	for (int round = truth_rounds(); round > 0; round--) {
		memset(block, round, BLOCK);
		TRUTH("self", "work", at_work, work(n));
		for (int i = 0; i < 4; i++) {
			TRUTH_OFF("file", if (store(fd, block) < 0) return 1);
			TRUTH_OFF("file", if (load(fd, block) != BLOCK) return 1);
		}
	}
	truth_print();
	return 0;
}
