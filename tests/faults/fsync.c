// SPDX-License-Identifier: MIT
// A journal that is forced to the disk after every record.
#include "fault.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define RECORDS 1000 // a fast disk has 200 of them in 50 ms

static void append(int file, int i)
{
	char record[32];
	int length = snprintf(record, sizeof(record), "record %d\n", i);

	if (write(file, record, (size_t)length) != length)
		abort();
}

static int journal(void)
{
	char path[] = "journal-XXXXXX";
	int file = mkstemp(path);

	if (file < 0)
		abort();
	unlink(path);
	return file;
}

static void finish(int file)
{
	printf("%ld bytes\n", (long)lseek(file, 0, SEEK_END));
	close(file);
}

void faulty(void)
{
	int file = journal();

	for (int i = 0; i < RECORDS; i++) {
		append(file, i);
		fsync(file); // fault: IO-SYNC
	}
	finish(file);
}

void healthy(void)
{
	int file = journal();

	for (int i = 0; i < RECORDS; i++)
		append(file, i);
	fsync(file);
	finish(file);
}
