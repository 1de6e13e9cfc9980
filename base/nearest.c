// SPDX-License-Identifier: MIT
#include "base/nearest.h"

#include <string.h>

#define LETTERS_MAX 40 // longer words are nobody's slip

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

// Row by row of the table of distances between beginnings of A and of B.
static size_t distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
	size_t rows[3][LETTERS_MAX + 1];
	size_t *before = rows[0], *last = rows[1], *row = rows[2];

	for (size_t j = 0; j <= b_length; j++)
		last[j] = j;
	for (size_t i = 1; i <= a_length; i++) {
		row[0] = i;
		for (size_t j = 1; j <= b_length; j++) {
			row[j] = last[j - 1] + (a[i - 1] != b[j - 1]);
			row[j] = least(row[j], least(last[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = least(row[j], before[j - 2] + 1);
		}
		size_t *free = before;
		before = last;
		last = row;
		row = free;
	}
	return last[b_length];
}

void nearest_try(struct nearest *n, const char *name)
{
	size_t word = strlen(n->word), length = strlen(name);

	if (word > LETTERS_MAX || length > LETTERS_MAX)
		return;
	size_t differ = distance(n->word, word, name, length);
	if (3 * differ > word || (n->name && n->distance <= differ))
		return;
	n->name = name;
	n->distance = differ;
}
