// SPDX-License-Identifier: MIT
// A file is read one byte at a time, with a system call for each.
#include "fault.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BYTES 2000000

static int text(void)
{
	static char page[4096];
	char path[] = "text-XXXXXX";
	int file = mkstemp(path);

	if (file < 0)
		abort();
	unlink(path);
	for (size_t i = 0; i < sizeof(page); i++)
		page[i] = i % 61 ? 'x' : '\n';
	for (int done = 0; done < BYTES; done += (int)sizeof(page))
		if (write(file, page, sizeof(page)) < 0)
			abort();
	lseek(file, 0, SEEK_SET);
	return file;
}

void faulty(void)
{
	int file = text(), lines = 0;
	char c;

	while (read(file, &c, 1) == 1) // fault: IO-TINY
		lines += c == '\n';
	printf("%d lines\n", lines);
	close(file);
}

void healthy(void)
{
	FILE *file = fdopen(text(), "r");
	int c, lines = 0;

	while ((c = getc_unlocked(file)) != EOF)
		lines += c == '\n';
	printf("%d lines\n", lines);
	fclose(file);
}
