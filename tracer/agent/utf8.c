// SPDX-License-Identifier: MIT
#include "tracer/agent/utf8.h"

#include <stdint.h>

#define REPLACEMENT 0xfffdu

_Static_assert(sizeof(wchar_t) == 4, "a wide character is a code point");

static uint32_t code_point(wchar_t character)
{
	uint32_t point = (uint32_t)character;

	return point > 0x10ffff || (point >= 0xd800 && point < 0xe000) ? REPLACEMENT : point;
}

// Returns the bytes that POINT takes, which are written if they are not more than ROOM.
static size_t put(char *at, size_t room, uint32_t point)
{
	size_t length = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
	static const uint8_t leads[] = { 0, 0, 0xc0, 0xe0, 0xf0 };

	if (length > room)
		return length;
	for (size_t i = length - 1; i > 0; i--, point >>= 6)
		at[i] = (char)(0x80 | (point & 0x3f));
	at[0] = (char)(leads[length == 1 ? 0 : length] | point);
	return length;
}

const char *utf8_from_wide(char *buffer, size_t size, const wchar_t *text)
{
	size_t used = 0;

	if (!text)
		return NULL;
	for (; *text; text++) {
		size_t length = put(buffer + used, size - 1 - used, code_point(*text));
		if (length > size - 1 - used)
			break;
		used += length;
	}
	buffer[used] = '\0';
	return buffer;
}
