// SPDX-License-Identifier: MIT
#include "base/cleanup.h"
#include "merge/table/columns.h"
#include "tests/support/expect.h"

#include <string.h>
#include <zlib.h>

static const uint64_t hard[] = {
	0,          1, 127,        128, 16383, 16384, UINT32_MAX, INT64_MAX, (uint64_t)INT64_MIN,
	UINT64_MAX, 0, UINT64_MAX, 5
};
#define HARD (sizeof(hard) / sizeof(hard[0]))

static void *pack_hard(struct columns *c, size_t *size)
{
	cr_assert(columns_init(c, 2, 0x2, COLUMNS_ROWS));
	c->rows = HARD;
	for (uint32_t i = 0; i < HARD; i++) {
		*columns_at(c, 0, i) = hard[i];
		*columns_at(c, 1, i) = hard[i];
	}
	return columns_pack(c, 6, size);
}

Test(columns, every_number_comes_back_plain_and_as_a_difference)
{
	cleanup(columns) struct columns c, back;
	size_t size;
	cleanup_free void *blob = pack_hard(&c, &size);

	cr_assert(columns_init(&back, 2, 0x2, COLUMNS_ROWS));
	cr_assert(columns_unpack(&back, HARD, blob, size));
	for (uint32_t i = 0; i < HARD; i++) {
		cr_expect(eq(u64, *columns_at(&back, 0, i), hard[i]), "row %u", i);
		cr_expect(eq(u64, *columns_at(&back, 1, i), hard[i]), "row %u", i);
	}
}

// Columns beyond the 32nd have bits of their own.
Test(columns, the_last_of_many_columns_may_hold_differences)
{
	cleanup(columns) struct columns c, back;
	const uint64_t last = UINT64_C(1) << (COLUMNS_WIDTH - 1);
	size_t marked, plain;

	cr_assert(columns_init(&c, COLUMNS_WIDTH, last, 1000));
	cr_assert(columns_init(&back, COLUMNS_WIDTH, last, 1000));
	c.rows = 1000;
	for (uint32_t column = 0; column < COLUMNS_WIDTH; column++)
		for (uint32_t i = 0; i < c.rows; i++)
			*columns_at(&c, column, i) = UINT64_C(1000000000) + i;
	cleanup_free void *blob = columns_encode(&c, &marked);
	cr_assert(columns_decode(&back, c.rows, blob, marked));
	for (uint32_t column = 0; column < COLUMNS_WIDTH; column++)
		cr_expect(eq(u64, *columns_at(&back, column, 999), 1000000999));
	c.deltas = 0;
	cleanup_free void *without = columns_encode(&c, &plain);
	cr_expect(lt(sz, marked, plain)); // of that column alone
	cr_expect(gt(sz, 2 * marked, plain));
}

Test(columns, a_blob_of_another_size_is_refused)
{
	cleanup(columns) struct columns c;
	size_t size;
	cleanup_free void *blob = pack_hard(&c, &size);

	cr_expect(not(columns_unpack(&c, HARD - 1, blob, size)));
	cr_expect(not(columns_unpack(&c, HARD + 1, blob, size)));
	cr_expect(not(columns_unpack(&c, 0, blob, size)));
	cr_expect(not(columns_unpack(&c, COLUMNS_ROWS + 1, blob, size)));
	for (size_t cut = 0; cut < size; cut++)
		cr_expect(not(columns_unpack(&c, HARD, blob, cut)), "%zu of %zu bytes", cut, size);
}

Test(columns, more_rows_than_a_table_has_room_for_are_refused)
{
	cleanup(columns) struct columns c, small, fitting;
	size_t size;
	cleanup_free void *blob = pack_hard(&c, &size);

	cr_assert(columns_init(&small, 2, 0x2, HARD - 1));
	cr_expect(not(columns_unpack(&small, HARD, blob, size)));
	cr_assert(columns_init(&fitting, 2, 0x2, HARD));
	cr_assert(columns_unpack(&fitting, HARD, blob, size));
	for (uint32_t i = 0; i < HARD; i++)
		cr_expect(eq(u64, *columns_at(&fitting, 1, i), hard[i]), "row %u", i);
}

Test(columns, a_flipped_bit_is_noticed_or_of_no_consequence)
{
	cleanup(columns) struct columns c, back;
	size_t size, refused = 0;
	cleanup_free unsigned char *blob = pack_hard(&c, &size);

	cr_assert(columns_init(&back, 2, 0x2, COLUMNS_ROWS));
	for (size_t bit = 0; bit < size * 8; bit++) {
		blob[bit / 8] ^= (unsigned char)(1 << bit % 8);
		bool taken = columns_unpack(&back, HARD, blob, size);
		blob[bit / 8] ^= (unsigned char)(1 << bit % 8);
		refused += !taken;
		// Padding, and lengths of codes that are not used, may be anything.
		for (uint32_t i = 0; taken && i < HARD; i++)
			cr_expect(eq(u64, *columns_at(&back, 1, i), hard[i]), "bit %zu", bit);
	}
	cr_expect(gt(sz, refused, size * 7));
}

Test(columns, numbers_that_do_not_fit_or_do_not_end_are_refused)
{
	static const struct {
		uint8_t bytes[12];
		size_t size;
	} rows[] = {
		{ { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02 }, 10 },
		{ { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x80 }, 10 },
		{ { 0x80 }, 1 },
		{ { 0x05, 0x05 }, 2 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cleanup(columns) struct columns c;
		uint8_t packed[64];
		uLongf size = sizeof(packed);
		cr_assert(columns_init(&c, 1, 0, COLUMNS_ROWS));
		cr_assert(compress(packed, &size, rows[i].bytes, rows[i].size) == Z_OK);
		cr_expect(not(columns_unpack(&c, 1, packed, size)), "row %zu", i);
	}
}

Test(columns, a_bomb_is_refused)
{
	cleanup(columns) struct columns c;
	size_t plain_size = 50 << 20;
	cleanup_free uint8_t *plain = calloc(1, plain_size);
	uLongf size = compressBound(plain_size);
	cleanup_free uint8_t *packed = malloc(size);

	cr_assert(columns_init(&c, 2, 0, COLUMNS_ROWS));
	cr_assert(compress(packed, &size, plain, plain_size) == Z_OK);
	cr_expect(not(columns_unpack(&c, COLUMNS_ROWS, packed, size)));
}
