// SPDX-License-Identifier: MIT
// A file that is not in memory is read in pieces that are far apart, each when it is needed.
#include "fault.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIECE  4096
#define PIECES 6000

static int cold(void)
{
	static char page[PIECE];
	char path[] = "data-XXXXXX";
	int file = mkstemp(path);

	if (file < 0)
		abort();
	unlink(path);
	for (int i = 0; i < PIECES; i++) {
		memset(page, 'a' + i % 26, sizeof(page));
		if (write(file, page, sizeof(page)) < 0)
			abort();
	}
	fdatasync(file);
	posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
	return file;
}

void faulty(void)
{
	int file = cold();
	unsigned sum = 0;
	char page[PIECE];

	posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM);
	for (int i = 0; i < PIECES; i++) {
		long at = (long)i * 2477 % PIECES;

		if (pread(file, page, PIECE, at * PIECE) < 0) // fault: IO-WAIT
			abort();
		sum += (unsigned)page[i % PIECE];
	}
	printf("%u\n", sum);
	close(file);
}

void healthy(void)
{
	int file = cold();
	unsigned sum = 0;
	char page[PIECE];

	posix_fadvise(file, 0, 0, POSIX_FADV_SEQUENTIAL);
	posix_fadvise(file, 0, 0, POSIX_FADV_WILLNEED);
	for (int i = 0; i < PIECES; i++) {
		if (pread(file, page, PIECE, (long)i * PIECE) < 0)
			abort();
		sum += (unsigned)page[i % PIECE];
	}
	printf("%u\n", sum);
	close(file);
}
