// SPDX-License-Identifier: MIT
// Versions are sorted by a number that each comparison takes out of their text.
#include "fault.h"

#include <stdio.h>
#include <stdlib.h>

#define COUNT  300000
#define ROUNDS 20

struct version {
	char text[24];
	long key;
};

static long key_of(const char *text)
{
	return strtol(text + 1, NULL, 10); // fault: CPU-KEY
}

static int by_text(const void *a, const void *b)
{
	long one = key_of(((const struct version *)a)->text);
	long two = key_of(((const struct version *)b)->text);

	return (one > two) - (one < two);
}

static int by_key(const void *a, const void *b)
{
	long one = ((const struct version *)a)->key, two = ((const struct version *)b)->key;

	return (one > two) - (one < two);
}

static struct version *make(void)
{
	struct version *versions = (struct version *)calloc(COUNT, sizeof(*versions));
	unsigned seed = 1;

	for (int i = 0; i < COUNT; i++) {
		seed = seed * 1103515245u + 12345u;
		snprintf(versions[i].text, sizeof(versions[i].text), "v%u", seed >> 2);
	}
	return versions;
}

static void say(struct version *versions)
{
	unsigned long hash = 5381;

	for (int round = 0; round < ROUNDS; round++)
		for (int i = 0; i < COUNT; i++)
			for (const char *at = versions[i].text; *at; at++)
				hash = hash * 33 + (unsigned char)*at;
	printf("%s to %s, %lx\n", versions[0].text, versions[COUNT - 1].text, hash);
	free(versions);
}

void faulty(void)
{
	struct version *versions = make();

	qsort(versions, COUNT, sizeof(*versions), by_text);
	say(versions);
}

void healthy(void)
{
	struct version *versions = make();

	for (int i = 0; i < COUNT; i++)
		versions[i].key = key_of(versions[i].text);
	qsort(versions, COUNT, sizeof(*versions), by_key);
	say(versions);
}
