/* SPDX-License-Identifier: MIT */
/*
 * Tables of numbers, packed column by column: the blobs of a profile file.
 *
 * A blob is a zlib stream. In it each column stands whole, one after the other,
 * each value as a varint: seven bits a byte, the lowest first, the top bit
 * set on all but the last byte. A column that is marked holds differences to the value
 * before (the first to 0), zigzag: 0, -1, 1, -2, … become 0, 1, 2, 3, …
 *
 * A table owns its values. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most rows of one blob, and columns. */
#define COLUMNS_ROWS  32768
#define COLUMNS_WIDTH 64

struct columns {
	uint32_t width;  /* columns */
	uint64_t deltas; /* bit i: column i holds differences */
	uint32_t rows, room;
	uint64_t *values; /* [column * room + row] */
};

/* Room for ROOM rows, COLUMNS_ROWS at most. False if there is no memory. */
bool columns_init(struct columns *c, uint32_t width, uint64_t deltas, uint32_t room);
void columns_fini(struct columns *c);

static inline void columns_at_scope_end(struct columns *c)
{
	columns_fini(c);
}

static inline uint64_t *columns_at(struct columns *c, uint32_t column, uint32_t row)
{
	return &c->values[(size_t)column * c->room + row];
}

/* The blob of the rows, to be freed with free(); LEVEL is zlib's. NULL if there is no memory. */
void *columns_pack(const struct columns *c, int level, size_t *size);

/* Takes ROWS rows from BLOB. False if it does not hold just that, if these are more than there is
   room for, or if there is no memory. */
bool columns_unpack(struct columns *c, uint32_t rows, const void *blob, size_t size);

/* The two halves of these: the bytes that are in the stream, and the stream. */
void *columns_encode(const struct columns *c, size_t *size);
bool columns_decode(struct columns *c, uint32_t rows, const void *bytes, size_t size);
void *columns_deflate(const void *bytes, size_t bytes_size, int level, size_t *size);

static inline uint64_t zigzag(int64_t value)
{
	return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

static inline int64_t unzigzag(uint64_t value)
{
	return (int64_t)(value >> 1 ^ -(value & 1));
}
