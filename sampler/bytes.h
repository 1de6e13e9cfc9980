/* SPDX-License-Identifier: MIT */
/*
 * A cursor over foreign bytes that cannot leave them.
 *
 * A read beyond the end gives 0, moves to the end and sets FAILED, which stays:
 * a parser reads a whole entry and asks once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct bytes {
	const uint8_t *at, *end;
	bool failed;
};

static inline struct bytes bytes_of(const uint8_t *start, size_t size)
{
	return (struct bytes){ .at = start, .end = start + size };
}

static inline size_t bytes_left(const struct bytes *b)
{
	return (size_t)(b->end - b->at);
}

/* COUNT bytes, or NULL. */
static inline const uint8_t *bytes_take(struct bytes *b, uint64_t count)
{
	const uint8_t *taken = b->at;

	if (count > bytes_left(b)) {
		b->failed = true;
		b->at = b->end;
		return NULL;
	}
	b->at += count;
	return taken;
}

#define BYTES_READ(type)                                                                           \
	static inline type##_t bytes_##type(struct bytes *b)                                       \
	{                                                                                          \
		type##_t value = 0;                                                                \
		const uint8_t *from = bytes_take(b, sizeof(value));                                \
		if (from)                                                                          \
			memcpy(&value, from, sizeof(value));                                       \
		return value;                                                                      \
	}

BYTES_READ(uint8)
BYTES_READ(uint16)
BYTES_READ(uint32)
BYTES_READ(uint64)

static inline uint64_t bytes_uleb128(struct bytes *b)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = bytes_uint8(b);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	return value;
}

static inline int64_t bytes_sleb128(struct bytes *b)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = bytes_uint8(b);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (shift < 64 && byte & 0x40)
		value |= ~UINT64_C(0) << shift;
	return (int64_t)value;
}

/* A text that ends with NUL inside the bytes, or NULL. */
static inline const char *bytes_text(struct bytes *b)
{
	const uint8_t *end = memchr(b->at, 0, bytes_left(b));

	if (!end) {
		b->failed = true;
		b->at = b->end;
		return NULL;
	}
	return (const char *)bytes_take(b, (uint64_t)(end - b->at) + 1);
}
