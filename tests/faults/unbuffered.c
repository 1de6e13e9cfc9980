// SPDX-License-Identifier: MIT
// Output that is flushed after every line.
#include "fault.h"

#include <stdio.h>
#include <stdlib.h>

#define LINES 1600000

static FILE *output(void)
{
	FILE *file = fopen("/dev/null", "w");

	if (!file)
		abort();
	setvbuf(file, NULL, _IOFBF, 65536);
	return file;
}

void faulty(void)
{
	FILE *file = output();

	for (int i = 0; i < LINES; i++) {
		fprintf(file, "%d\n", i);
		fflush(file); // fault: IO-TINY
	}
	fclose(file);
}

void healthy(void)
{
	FILE *file = output();

	for (int i = 0; i < LINES; i++)
		fprintf(file, "%d\n", i);
	fclose(file);
}
