// SPDX-License-Identifier: MIT
// Lines are compared by the rules of a language each time, instead of by keys made once.
#include "fault.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINES   120000
#define LENGTH  40
#define SKIPPED 77

static char lines[LINES][LENGTH];
static char *keys[LINES];

// The locale is made by the build, as few machines have one of every language.
static void make_lines(void)
{
	unsigned seed = 1;

	setenv("LOCPATH", LOCALES, 1);
	if (!setlocale(LC_COLLATE, "en_US.UTF-8"))
		exit(SKIPPED);
	for (int i = 0; i < LINES; i++)
		snprintf(lines[i], LENGTH, "User %d-%d, item %x", rand_r(&seed) % 9,
		         rand_r(&seed) % 9, (unsigned)rand_r(&seed));
}

static int by_rules(const void *a, const void *b)
{
	int order = strcoll((const char *)a, (const char *)b); // fault: CPU-COLLATE

	return order ? order : strcmp((const char *)a, (const char *)b);
}

void faulty(void)
{
	make_lines();
	qsort(lines, LINES, LENGTH, by_rules);
	printf("%s %s\n", lines[0], lines[LINES - 1]);
}

static int by_key(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

// A key has the line behind it.
void healthy(void)
{
	make_lines();
	for (int i = 0; i < LINES; i++) {
		size_t size = strxfrm(NULL, lines[i], 0) + 1;
		keys[i] = (char *)malloc(size + LENGTH);
		strxfrm(keys[i], lines[i], size);
		memcpy(keys[i] + size, lines[i], LENGTH);
	}
	qsort(keys, LINES, sizeof(keys[0]), by_key);
	printf("%s %s\n", keys[0] + strlen(keys[0]) + 1,
	       keys[LINES - 1] + strlen(keys[LINES - 1]) + 1);
	for (int i = 0; i < LINES; i++)
		free(keys[i]);
}
