// SPDX-License-Identifier: MIT
// Records of a file that memory does not keep, in any order: each waits for the disk.
#include "fault.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#define RECORD  65536
#define RECORDS 256
#define PASSES  16
#define SKIPPED 77

static uint8_t record[RECORD];

static int data(void)
{
	char path[] = "data-XXXXXX";
	int file = mkstemp(path);

	if (file < 0)
		abort();
	unlink(path);
	for (int i = 0; i < RECORDS * RECORD; i += RECORD) {
		for (size_t j = 0; j < sizeof(record); j += 512)
			record[j] = (uint8_t)(i / RECORD + j / 512);
		if (write(file, record, sizeof(record)) != RECORD)
			abort();
	}
	posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM);
	return file;
}

static uint32_t add(uint32_t sum)
{
	for (size_t i = 0; i < sizeof(record); i++)
		sum = (sum ^ record[i]) * 16777619;
	return sum;
}

static void drop(int file)
{
	struct iovec part = { record, sizeof(record) };

	posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
	// A file system in memory keeps it all the same.
	if (preadv2(file, &part, 1, 0, RWF_NOWAIT) == RECORD)
		exit(SKIPPED);
}

static off_t place(int i)
{
	return (off_t)(i * 97 % RECORDS) * RECORD;
}

void faulty(void)
{
	int file = data();
	uint32_t sum = 0;

	fsync(file); // what the disk does not have cannot be dropped
	for (int pass = 0; pass < PASSES; pass++) {
		drop(file);
		for (int i = 0; i < RECORDS; i++) {
			if (pread(file, record, sizeof(record), place(i)) < 0) // fault: IO-WAIT
				abort();
			sum = add(sum);
		}
	}
	printf("%u\n", sum);
	close(file);
}

void healthy(void)
{
	int file = data();
	uint32_t sum = 0;

	for (int pass = 0; pass < PASSES; pass++) {
		for (int i = 0; i < RECORDS; i++) {
			if (pread(file, record, sizeof(record), place(i)) < 0)
				abort();
			sum = add(sum);
		}
	}
	printf("%u\n", sum);
	close(file);
}
