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

#define WINDOW_MIN    9 // bits
#define WINDOW_MAX    15
#define LOOKAHEAD     262 // of its bytes are never looked back at
#define MEMORY_BEHIND 6   // of the bits of the window: its hash has two entries a byte
#define MEMORY_MAX    8   // what zlib takes if it is not asked

// zlib clears tables of 128 KB for each stream: for few bytes those of a small window do.
static bool open_stream(z_stream *stream, size_t bytes_size, int level)
{
	int window = WINDOW_MIN;

	while (window < WINDOW_MAX && ((size_t)1 << window) < bytes_size + LOOKAHEAD)
		window++;
	int memory = window - MEMORY_BEHIND < MEMORY_MAX ? window - MEMORY_BEHIND : MEMORY_MAX;
	*stream = (z_stream){ .zalloc = Z_NULL, .zfree = Z_NULL };
	return deflateInit2(stream, level, Z_DEFLATED, window, memory, Z_DEFAULT_STRATEGY) == Z_OK;
}

void *columns_deflate(const void *bytes, size_t bytes_size, int level, size_t *size)
{
	z_stream stream;

	if (bytes_size > UINT32_MAX / 2 || !open_stream(&stream, bytes_size, level))
		return NULL;
	uLong bound = deflateBound(&stream, (uLong)bytes_size);
	cleanup_free uint8_t *packed = malloc(bound);
	stream.next_in = (Bytef *)(uintptr_t)bytes;
	stream.avail_in = (uInt)bytes_size;
	stream.next_out = packed;
	stream.avail_out = (uInt)bound;
	bool whole = packed && deflate(&stream, Z_FINISH) == Z_STREAM_END;
	*size = stream.total_out;
	deflateEnd(&stream);
	return whole ? steal(packed) : NULL;
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
