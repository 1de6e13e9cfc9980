// SPDX-License-Identifier: MIT
#include "merge/table/columns.h"

#include "base/cleanup.h"

#include <stdlib.h>
#include <zlib.h>

#define VARINT_MAX 10 // bytes

bool columns_init(struct columns *c, uint32_t width, uint64_t deltas, uint32_t room)
{
	*c = (struct columns){ .width = width, .deltas = deltas, .room = room };
	// Not zeroed: most tables fill but a little of it.
	c->values = malloc((size_t)width * room * sizeof(*c->values));
	return c->values != NULL;
}

void columns_fini(struct columns *c)
{
	free(c->values);
	*c = (struct columns){ 0 };
}

static uint8_t *put_varint(uint8_t *at, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		*at++ = (uint8_t)(value | 0x80);
	*at++ = (uint8_t)value;
	return at;
}

static uint8_t *put_column(const struct columns *c, uint32_t column, uint8_t *at)
{
	const uint64_t *values = &c->values[(size_t)column * c->room];
	uint64_t before = 0;

	for (uint32_t row = 0; row < c->rows; row++) {
		bool delta = c->deltas >> column & 1;
		at = put_varint(at, delta ? zigzag((int64_t)(values[row] - before)) : values[row]);
		before = values[row];
	}
	return at;
}

void *columns_encode(const struct columns *c, size_t *size)
{
	cleanup_free uint8_t *plain = malloc((size_t)c->rows * c->width * VARINT_MAX + 1);
	uint8_t *at = plain;

	if (!plain)
		return NULL;
	for (uint32_t column = 0; column < c->width; column++)
		at = put_column(c, column, at);
	*size = (size_t)(at - plain);
	uint8_t *fitting = realloc(plain, *size + 1);
	if (!fitting)
		return steal(plain);
	(void)steal(plain);
	return fitting;
}

void *columns_deflate(const void *bytes, size_t bytes_size, int level, size_t *size)
{
	uLongf packed_size = compressBound((uLong)bytes_size);
	cleanup_free uint8_t *packed = malloc(packed_size);

	if (!packed || compress2(packed, &packed_size, bytes, (uLong)bytes_size, level) != Z_OK)
		return NULL;
	*size = packed_size;
	return steal(packed);
}

void *columns_pack(const struct columns *c, int level, size_t *size)
{
	size_t plain_size;
	cleanup_free void *plain = columns_encode(c, &plain_size);

	return plain ? columns_deflate(plain, plain_size, level, size) : NULL;
}

// The bytes after the varint at AT; NULL if it does not end before END, or is too large.
static const uint8_t *get_varint(const uint8_t *at, const uint8_t *end, uint64_t *value)
{
	uint64_t sum = 0;

	for (unsigned shift = 0; at < end && shift < 64; shift += 7) {
		uint64_t bits = *at & 0x7f;
		if (bits << shift >> shift != bits)
			return NULL;
		sum |= bits << shift;
		if (!(*at++ & 0x80)) {
			*value = sum;
			return at;
		}
	}
	return NULL;
}

static const uint8_t *get_column(struct columns *c, uint32_t column, const uint8_t *at,
                                 const uint8_t *end)
{
	bool delta = c->deltas >> column & 1;
	uint64_t before = 0;

	for (uint32_t row = 0; at && row < c->rows; row++) {
		uint64_t value;
		at = get_varint(at, end, &value);
		if (!at)
			return NULL;
		before = delta ? before + (uint64_t)unzigzag(value) : value;
		*columns_at(c, column, row) = before;
	}
	return at;
}

bool columns_decode(struct columns *c, uint32_t rows, const void *bytes, size_t size)
{
	const uint8_t *at = bytes, *end = at + size;

	if (!rows || rows > c->room)
		return false;
	c->rows = rows;
	for (uint32_t column = 0; at && column < c->width; column++)
		at = get_column(c, column, at, end);
	return at == end;
}

bool columns_unpack(struct columns *c, uint32_t rows, const void *blob, size_t size)
{
	if (!rows || rows > c->room || size > UINT32_MAX)
		return false;
	// What the varints can be at most; a stream that holds more is refused by uncompress().
	uLongf plain_size = (uLongf)rows * c->width * VARINT_MAX;
	cleanup_free uint8_t *plain = malloc(plain_size);
	if (!plain || uncompress(plain, &plain_size, blob, (uLong)size) != Z_OK)
		return false;
	return columns_decode(c, rows, plain, plain_size);
}
