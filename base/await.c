// SPDX-License-Identifier: MIT
#include "base/await.h"

#include <string.h>

// NULL: it does not end.
static const char *read_text(const char **at, const char *end)
{
	const char *text = *at, *last = memchr(text, '\0', (size_t)(end - text));

	*at = last ? last + 1 : end;
	return last ? text : NULL;
}

bool await_read_places(const void *bytes, size_t size, uint32_t count,
                       struct await_told places[AWAIT_PLACES_MAX])
{
	const char *at = bytes, *end = at + size;

	if (count < 1 || count > AWAIT_PLACES_MAX)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		if ((size_t)(end - at) < sizeof(places[i].line))
			return false;
		memcpy(&places[i].line, at, sizeof(places[i].line));
		at += sizeof(places[i].line);
		places[i].function = read_text(&at, end);
		places[i].file = read_text(&at, end);
		if (!places[i].function || !places[i].file || places[i].line > INT32_MAX)
			return false;
	}
	return true;
}
