// SPDX-License-Identifier: MIT
#include "cli/short_name.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool opens(char c)
{
	return c == '<' || c == '(' || c == '[' || c == '{';
}

static bool closes(char c)
{
	return c == '>' || c == ')' || c == ']' || c == '}';
}

// Where the parameters begin: the last parenthesis that is not within another bracket.
static size_t find_parameters(const char *name, size_t length)
{
	int depth = 0;

	for (size_t i = length; i > 0; i--) {
		depth += closes(name[i - 1]) && !(i > 1 && name[i - 2] == '-');
		depth -= opens(name[i - 1]);
		if (depth == 0 && name[i - 1] == '(')
			return i - 1;
	}
	return length;
}

// Behind the last space that is not within a bracket.
static size_t find_name(const char *name, size_t length)
{
	int depth = 0;
	size_t found = 0;

	for (size_t i = 0; i < length; i++) {
		depth += opens(name[i]);
		depth -= closes(name[i]);
		if (depth == 0 && name[i] == ' ')
			found = i + 1;
	}
	return found;
}

void short_name(const char *name, char *buffer, size_t size)
{
	size_t length = strlen(name);
	size_t end = length && name[length - 1] == ')' ? find_parameters(name, length) : length;
	size_t begin = end < length ? find_name(name, end) : 0;

	if (begin >= end) {
		begin = 0;
		end = length;
	}
	snprintf(buffer, size, "%.*s", (int)(end - begin), name + begin);
}
