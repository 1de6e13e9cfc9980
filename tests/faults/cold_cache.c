// SPDX-License-Identifier: MIT
// A file is read piece by piece, again and again, and is not kept in memory in between.
#include "fault.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIECE  4096
#define PIECES 500
#define ROUNDS 10

static int data(void)
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
	return file;
}

static unsigned pass(int file)
{
	unsigned sum = 0;
	char page[PIECE];

	for (int i = 0; i < PIECES; i++) {
		long at = (long)i * 1237 % PIECES;

		if (pread(file, page, PIECE, at * PIECE) < 0) // fault: IO-WAIT
			abort();
		sum += (unsigned)page[i % PIECE];
	}
	return sum;
}

void faulty(void)
{
	int file = data();
	unsigned sum = 0;

	fdatasync(file);
	posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM);
	for (int round = 0; round < ROUNDS; round++) {
		posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
		sum += pass(file);
	}
	printf("%u\n", sum);
	close(file);
}

void healthy(void)
{
	int file = data();
	unsigned sum = 0;

	for (int round = 0; round < ROUNDS; round++)
		sum += pass(file);
	printf("%u\n", sum);
	close(file);
}
