// SPDX-License-Identifier: MIT
#include "tracer/agent/python/python_text.h"

#include <stdbool.h>
#include <string.h>

#define REPLACEMENT 0xfffd

static uint32_t character(const struct python_text *t, size_t index)
{
	uint32_t c = 0;

	memcpy(&c, (const void *)(t->at + index * t->kind), t->kind);
	// What a surrogate stands for is a byte of a file's name that is no UTF-8.
	return c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? REPLACEMENT : c;
}

static size_t bytes_of(uint32_t c)
{
	return c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
}

static void put(uint8_t *to, uint32_t c, size_t bytes)
{
	static const uint8_t lead[] = { 0, 0, 0xc0, 0xe0, 0xf0 };

	for (size_t i = bytes - 1; i > 0; i--, c >>= 6)
		to[i] = (uint8_t)(0x80 | (c & 0x3f));
	to[0] = (uint8_t)(lead[bytes] | c);
}

// Cuts the text where its UTF-8 would be longer than LIMIT.
static void measure(struct python_text *t, size_t limit)
{
	for (size_t i = 0; i < t->length; i++) {
		size_t bytes = bytes_of(character(t, i));
		if (t->bytes + bytes > limit)
			t->length = i;
		else
			t->bytes += bytes;
	}
}

struct python_text python_text_of(const struct python_layout *l, struct guard *g, uintptr_t text,
                                  size_t limit)
{
	const struct python_text none = { 0 };

	if (!text || text % sizeof(text) || !guard_readable(g, text, (size_t)l->text_ascii))
		return none;
	uint32_t state = (uint32_t)guard_int(text, l->text_state) >> l->text_kind_bit;
	uint8_t kind = state & 7;
	bool compact = state >> 3 & 1, ascii = state >> 4 & 1;
	size_t length = guard_pointer(text, l->text_length);
	struct python_text t = {
		.at = text + (uintptr_t)(ascii ? l->text_ascii : l->text_compact),
		.kind = kind,
		.length = length < limit ? length : limit,
	};
	if (!compact || (kind != 1 && kind != 2 && kind != 4) || (ascii && kind != 1))
		return none;
	if (t.length && !guard_readable(g, t.at, t.length * kind))
		return none;
	measure(&t, limit);
	return t;
}

void python_text_write(const struct python_text *t, uint8_t *to)
{
	for (size_t i = 0; i < t->length; i++) {
		uint32_t c = character(t, i);
		size_t bytes = bytes_of(c);
		put(to, c, bytes);
		to += bytes;
	}
}
