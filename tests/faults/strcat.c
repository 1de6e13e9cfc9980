// SPDX-License-Identifier: MIT
// A text is built with strcat(), which looks for its end from the beginning each time.

// Fortified, as Ubuntu's gcc does by itself, the search for the end has the line of the loop.
#undef _FORTIFY_SOURCE
#include "fault.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS 170000

void faulty(void)
{
	char *text = (char *)calloc(WORDS, 6);

	for (int i = 0; i < WORDS; i++)
		strcat(text, i % 2 ? "hello" : "all, "); // fault: CPU-QUADRATIC
	printf("%zu\n", strlen(text));
	free(text);
}

void healthy(void)
{
	char *text = (char *)calloc(WORDS, 6), *end = text;

	for (int i = 0; i < WORDS; i++)
		end = stpcpy(end, i % 2 ? "hello" : "all, ");
	printf("%zu\n", strlen(text));
	free(text);
}
