/* SPDX-License-Identifier: MIT */
/*
 * Reading foreign bytes without ever leaving them.
 *
 * A cursor that runs out of bytes, or meets what it cannot read, goes bad and
 * stays bad: from then on it stands at its end and reads zeros. So a parser
 * reads ahead without a test per field and asks `bad` where it matters.
 * Little-endian, as all the machines that we profile are.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct bytes {
	const uint8_t *data; /* NULL if SIZE is 0 */
	size_t size;
};

struct cursor {
	const uint8_t *at, *end;
	bool bad;
};

static inline void cursor_fail(struct cursor *c)
{
	c->at = c->end;
	c->bad = true;
}

/* A cursor over B from OFFSET on; bad if that lies outside. */
static inline struct cursor cursor_at(struct bytes b, uint64_t offset)
{
	if (!b.data || offset > b.size)
		return (struct cursor){ .bad = true };
	return (struct cursor){ b.data + offset, b.data + b.size, false };
}

/* A cursor over SIZE bytes from START on. */
static inline struct cursor cursor_of(const uint8_t *start, size_t size)
{
	return (struct cursor){ start, start + size, false };
}

static inline size_t cursor_left(const struct cursor *c)
{
	return (size_t)(c->end - c->at);
}

/* The next SIZE bytes, which the cursor steps over; NULL if there are not so many. */
static inline const uint8_t *cursor_take(struct cursor *c, uint64_t size)
{
	const uint8_t *at = c->at;

	if (size > cursor_left(c) || c->bad) {
		cursor_fail(c);
		return NULL;
	}
	c->at += size;
	return at;
}

static inline void cursor_skip(struct cursor *c, uint64_t size)
{
	cursor_take(c, size);
}

/* An unsigned number of SIZE bytes, at most 8. */
static inline uint64_t cursor_number(struct cursor *c, unsigned int size)
{
	uint64_t number = 0;
	const uint8_t *at = cursor_take(c, size);

	if (at)
		memcpy(&number, at, size);
	return number;
}

static inline uint8_t cursor_u8(struct cursor *c)
{
	if (c->at < c->end)
		return *c->at++; // NOLINT(clang-analyzer-core.NullDereference)
	cursor_fail(c);
	return 0;
}

static inline uint16_t cursor_u16(struct cursor *c)
{
	return (uint16_t)cursor_number(c, 2);
}

static inline uint32_t cursor_u32(struct cursor *c)
{
	return (uint32_t)cursor_number(c, 4);
}

static inline uint64_t cursor_u64(struct cursor *c)
{
	return cursor_number(c, 8);
}

static inline uint64_t cursor_uleb(struct cursor *c)
{
	uint64_t value = 0;

	for (unsigned int shift = 0;; shift += 7) {
		uint8_t byte = cursor_u8(c);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) // true at the end of the bytes, too
			return value;
	}
}

static inline int64_t cursor_sleb(struct cursor *c)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = cursor_u8(c);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (shift < 64 && (byte & 0x40))
		value |= ~UINT64_C(0) << shift;
	return (int64_t)value;
}

/* Steps over one LEB128 number of either kind. */
static inline void cursor_skip_leb(struct cursor *c)
{
	while (cursor_u8(c) & 0x80)
		;
}

/* The text here and its NUL, which the cursor steps over; NULL if the bytes end before it. */
static inline const char *cursor_string(struct cursor *c)
{
	size_t left = cursor_left(c);
	const uint8_t *nul = left ? memchr(c->at, '\0', left) : NULL;
	const uint8_t *at = c->at;

	if (!nul) {
		cursor_fail(c);
		return NULL;
	}
	c->at = nul + 1;
	return (const char *)at;
}

/* The text at OFFSET of B; NULL if there is none. */
static inline const char *bytes_string(struct bytes b, uint64_t offset)
{
	struct cursor c = cursor_at(b, offset);

	return cursor_string(&c);
}

/* The part of B from OFFSET on, of SIZE bytes; cut where B ends. */
static inline struct bytes bytes_slice(struct bytes b, uint64_t offset, uint64_t size)
{
	if (offset >= b.size)
		return (struct bytes){ 0 };
	if (size > b.size - offset)
		size = b.size - offset;
	return (struct bytes){ b.data + offset, (size_t)size };
}
