// SPDX-License-Identifier: MIT
#include "base/python_lines.h"

#include <stdbool.h>

#define UNIT_BYTES 2 // of an instruction, from 3.6 on

// In objects/locations.md: what an entry's second field says.
enum location_form {
	FORM_ONE_LINE_0 = 10, // and 1, 2: so many lines further
	FORM_ONE_LINE_2 = 12,
	FORM_NO_COLUMNS = 13,
	FORM_LONG = 14,
	FORM_NONE = 15
};

static uint32_t as_line(int64_t line)
{
	return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

// Pairs of bytes: so much further in the code, so much in the lines.
static uint32_t find_in_lnotab(const uint8_t *table, size_t size, uint32_t first_line,
                               uint32_t instruction)
{
	int64_t line = first_line;
	uint32_t at = 0;

	for (size_t i = 0; i + 1 < size; i += 2) {
		at += table[i];
		if (at > instruction)
			break;
		line += (int8_t)table[i + 1];
	}
	return as_line(line);
}

// Pairs of bytes: the length of a range, and its line as seen from that before; -128: none.
static uint32_t find_in_ranges(const uint8_t *table, size_t size, uint32_t first_line,
                               uint32_t instruction)
{
	int64_t line = first_line;
	uint32_t end = 0;

	for (size_t i = 0; i + 1 < size; i += 2) {
		int8_t delta = (int8_t)table[i + 1];
		bool none = delta == INT8_MIN;
		end += table[i];
		line += none ? 0 : delta;
		if (instruction < end)
			return none ? 0 : as_line(line);
	}
	return 0;
}

// Six bits a byte, the lowest first; bit 6: there are more.
static bool read_varint(const uint8_t *table, size_t size, size_t at, uint32_t *value)
{
	uint64_t read = 0;

	for (unsigned shift = 0; at < size && shift < 32; at++, shift += 6) {
		read |= (uint64_t)(table[at] & 0x3f) << shift;
		if (!(table[at] & 0x40)) {
			*value = (uint32_t)read;
			return read <= UINT32_MAX;
		}
	}
	return false;
}

// How many lines the entry at AT is behind the one before. The sign is the lowest bit.
static bool read_delta(const uint8_t *table, size_t size, size_t at, int form, int64_t *delta)
{
	uint32_t value;

	*delta = form >= FORM_ONE_LINE_0 && form <= FORM_ONE_LINE_2 ? form - FORM_ONE_LINE_0 : 0;
	if (form != FORM_NO_COLUMNS && form != FORM_LONG)
		return true;
	if (!read_varint(table, size, at + 1, &value))
		return false;
	*delta = value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
	return true;
}

// The first byte of an entry, and no other, has its highest bit set.
static size_t skip_entry(const uint8_t *table, size_t size, size_t at)
{
	do
		at++;
	while (at < size && !(table[at] & 0x80));
	return at;
}

static uint32_t find_in_locations(const uint8_t *table, size_t size, uint32_t first_line,
                                  uint32_t instruction)
{
	int64_t line = first_line, delta;
	uint64_t end = 0;

	for (size_t at = 0; at < size; at = skip_entry(table, size, at)) {
		int form = table[at] >> 3 & 0xf;
		if (!(table[at] & 0x80) || !read_delta(table, size, at, form, &delta))
			return 0;
		end += (uint64_t)((table[at] & 7) + 1) * UNIT_BYTES;
		line += delta;
		if (instruction < end)
			return form == FORM_NONE ? 0 : as_line(line);
	}
	return 0;
}

uint32_t python_line(uint32_t version, const uint8_t *table, size_t size, uint32_t first_line,
                     int32_t instruction)
{
	if (instruction < 0)
		return as_line(first_line);
	if (version < 0x030a)
		return find_in_lnotab(table, size, first_line, (uint32_t)instruction);
	if (version == 0x030a)
		return find_in_ranges(table, size, first_line, (uint32_t)instruction);
	return find_in_locations(table, size, first_line, (uint32_t)instruction);
}
