// SPDX-License-Identifier: MIT
// A large buffer is cleared for each short answer.
#include "fault.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REQUESTS 700000
#define BYTES    65536

static size_t respond(char *body, int clear, int status)
{
	if (clear)
		memset(body, 0, BYTES); // fault: MEM-FILL
	body[0] = 'H';
	for (int at = 1; at <= 3; at++, status /= 10)
		body[4 - at] = (char)('0' + status % 10);
	body[4] = '\0';
	return strlen(body);
}

static void answer_all(int clear)
{
	char *body = malloc(BYTES);
	size_t sum = 0;

	if (!body)
		exit(1);
	for (int i = 0; i < REQUESTS; i++)
		sum += respond(body, clear, 200 + i % 300) + (size_t)body[3];
	printf("%zu\n", sum);
	free(body);
}

void faulty(void)
{
	answer_all(1);
}

void healthy(void)
{
	answer_all(0);
}
