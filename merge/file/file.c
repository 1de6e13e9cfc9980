// SPDX-License-Identifier: MIT
#include "merge/file/file.h"

#include "base/clock.h"
#include "merge/profile/profile.h"

#include <string.h>
#include <zlib.h>

uint64_t file_sample_ns(const struct run *run)
{
	return run->frequency_hz ? NS_PER_SEC / run->frequency_hz : 0;
}

uint32_t file_checksum(uint32_t checksum, int type, const void *bytes, size_t size)
{
	unsigned char head[5] = { (unsigned char)type, (unsigned char)size,
		                  (unsigned char)(size >> 8), (unsigned char)(size >> 16),
		                  (unsigned char)(size >> 24) };

	checksum = (uint32_t)crc32(checksum, head, sizeof(head));
	return size ? (uint32_t)crc32(checksum, bytes, (uInt)size) : checksum;
}

static uint32_t checksum_word(uint32_t checksum, int type, uint64_t word)
{
	unsigned char bytes[8];

	for (int i = 0; i < 8; i++)
		bytes[i] = (unsigned char)(word >> 8 * i);
	return file_checksum(checksum, type, bytes, sizeof(bytes));
}

uint32_t file_checksum_int(uint32_t checksum, int64_t value)
{
	return checksum_word(checksum, SQLITE_INTEGER, (uint64_t)value);
}

uint32_t file_checksum_real(uint32_t checksum, double value)
{
	uint64_t word;

	memcpy(&word, &value, sizeof(word));
	return checksum_word(checksum, SQLITE_FLOAT, word);
}
