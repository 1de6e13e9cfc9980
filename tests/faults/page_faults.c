// SPDX-License-Identifier: MIT
// A large buffer that is mapped, touched and given back for every piece of work.
#include "fault.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PIECES 240
#define BYTES  (8 << 20)

static unsigned char *map(void)
{
	void *memory =
		mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		abort();
	madvise(memory, BYTES, MADV_NOHUGEPAGE);
	return (unsigned char *)memory;
}

static unsigned piece(unsigned char *buffer, int i)
{
	unsigned sum = 0;

	for (size_t at = 0; at < BYTES; at += 1024)
		buffer[at] = (unsigned char)(i + 1); // fault: MEM-FAULT
	for (size_t at = 0; at < BYTES; at += 1024)
		sum += buffer[at];
	return sum;
}

void faulty(void)
{
	unsigned sum = 0;

	for (int i = 0; i < PIECES; i++) {
		unsigned char *buffer = map();

		sum += piece(buffer, i);
		munmap(buffer, BYTES);
	}
	printf("%u\n", sum);
}

void healthy(void)
{
	unsigned char *buffer = map();
	unsigned sum = 0;

	for (int i = 0; i < PIECES; i++)
		sum += piece(buffer, i);
	munmap(buffer, BYTES);
	printf("%u\n", sum);
}
