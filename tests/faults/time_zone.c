// SPDX-License-Identifier: MIT
// Each line of a log has the local time; without TZ the C library looks at /etc/localtime for it.
#include "fault.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LINES 700000

static char ring[1 << 16];

static size_t append(size_t at, time_t when, int status)
{
	struct tm *tm = localtime(&when); // fault: IO-ZONE
	char line[40];
	int length;

	if (!tm)
		exit(1);
	length = snprintf(line, sizeof(line), "%d:%02d %d\n", tm->tm_hour, tm->tm_min, status);
	if (at + (size_t)length > sizeof(ring))
		at = 0;
	memcpy(ring + at, line, (size_t)length);
	return at + (size_t)length;
}

static void log_all(void)
{
	size_t at = 0;

	for (int i = 0; i < LINES; i++)
		at = append(at, 1700000000 + i / 7, i % 50 ? 200 : 404);
	printf("%zu\n", at);
}

void faulty(void)
{
	unsetenv("TZ");
	log_all();
}

void healthy(void)
{
	setenv("TZ", ":/etc/localtime", 1);
	tzset();
	log_all();
}
