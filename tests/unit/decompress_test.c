// SPDX-License-Identifier: MIT
#include "symbolize/elf/decompress.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "tests/support/expect.h"

#include <zlib.h>

#define LARGE ((size_t)1 << 20) // what large sections are decompressed by, not zlib

static uint8_t plain[LARGE], packed[2 * LARGE];

static struct bytes pack(size_t size)
{
	uLongf room = sizeof(packed);

	for (size_t i = 0; i < size; i++)
		plain[i] = (uint8_t)(i * i >> 7 ^ i);
	cr_assert(eq(int, compress(packed, &room, plain, size), Z_OK));
	return (struct bytes){ packed, room };
}

Test(decompress, what_was_packed_comes_back_small_or_large)
{
	static const size_t sizes[] = { 1, 4096, ((size_t)256 << 10) - 1, (size_t)256 << 10,
		                        LARGE };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct error err = { 0 };
		struct bytes in = pack(sizes[i]);
		cleanup_free uint8_t *out = decompress(COMPRESSION_ZLIB, in, sizes[i], &err);
		cr_assert(out != NULL, "%zu bytes: %s", sizes[i], err.text);
		cr_expect(eq(int, memcmp(out, plain, sizes[i]), 0), "%zu bytes", sizes[i]);
	}
}

Test(decompress, a_size_that_is_wrong_is_damage)
{
	struct bytes in = pack(LARGE);
	static const int wrong[] = { -4096, -1, 1, 4096 };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct error err = { 0 };
		uint8_t *out = decompress(COMPRESSION_ZLIB, in, LARGE + (size_t)wrong[i], &err);
		cr_expect(out == NULL, "%+d", wrong[i]);
		cr_expect(eq(str, err.text, "a compressed section is damaged"));
		free(out);
	}
}

Test(decompress, bytes_that_are_wrong_are_damage)
{
	for (int part = 0; part < 8; part++) {
		struct error err = { 0 };
		struct bytes in = pack(LARGE);
		packed[in.size * (size_t)part / 8] ^= 0x55;
		uint8_t *out = decompress(COMPRESSION_ZLIB, in, LARGE, &err);
		cr_expect(out == NULL, "at %d eighths", part);
		free(out);
	}
	struct error err = { 0 };
	struct bytes in = pack(LARGE);
	in.size /= 2;
	cr_expect(decompress(COMPRESSION_ZLIB, in, LARGE, &err) == NULL, "half of it");
}
