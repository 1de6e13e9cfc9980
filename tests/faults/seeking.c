// SPDX-License-Identifier: MIT
// Records that are sought for one by one, and the same ones read in a row.
#include "fault.h"

#include <stdbool.h>
#include <stdio.h>

#define RECORDS 4000
#define ROUNDS  150

struct record {
	int id;
	char name[60];
};

static long sum_up(FILE *file, bool seek)
{
	struct record record;
	long sum = 0;

	rewind(file);
	for (int i = 0; i < RECORDS; i++) {
		if (seek && fseek(file, (long)i * (long)sizeof(record), SEEK_SET)) // fault: CPU-SYS
			return -1;
		if (fread(&record, sizeof(record), 1, file) != 1)
			return -1;
		sum += record.id;
	}
	return sum;
}

static void run(bool seek)
{
	static char buffer[64 << 10];
	FILE *file = tmpfile();
	struct record record = { 0 };
	long sum = 0;

	if (!file)
		return;
	setvbuf(file, buffer, _IOFBF, sizeof(buffer));
	for (int i = 0; i < RECORDS; i++) {
		record.id = i;
		fwrite(&record, sizeof(record), 1, file);
	}
	for (int i = 0; i < ROUNDS; i++)
		sum += sum_up(file, seek);
	fclose(file);
	printf("%ld\n", sum);
}

void faulty(void)
{
	run(true);
}

void healthy(void)
{
	run(false);
}
