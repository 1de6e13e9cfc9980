// SPDX-License-Identifier: MIT
#include "symbolize/dwarf/dwp_index.h"

#include "symbolize/elf/elf_file.h"

// Column ids. 5, 7 and (in version 2) 8 are of sections that we do not read.
enum column {
	COLUMN_INFO = 1,
	COLUMN_ABBREV = 3,
	COLUMN_LINE = 4,
	COLUMN_STR_OFFSETS = 6,
	COLUMN_RNGLISTS = 8
};

struct index {
	struct bytes bytes;
	bool is_5;
	uint32_t columns, units, slots;
	uint64_t hashes, rows, offsets, sizes; // where each table starts in BYTES
};

static uint64_t number_at(struct bytes bytes, uint64_t offset, unsigned int size)
{
	struct cursor c = cursor_at(bytes, offset);

	return cursor_number(&c, size);
}

static bool open_index(struct elf_file *package, struct index *index)
{
	index->bytes = elf_file_named_contents(package, ".debug_cu_index");
	struct cursor c = cursor_at(index->bytes, 0);
	// Version 5 is two bytes and padding: all four read as 5 as well.
	uint32_t version = cursor_u32(&c);
	index->is_5 = version == 5;
	index->columns = cursor_u32(&c);
	index->units = cursor_u32(&c);
	index->slots = cursor_u32(&c);
	index->hashes = 16;
	index->rows = index->hashes + (uint64_t)index->slots * 8;
	index->offsets = index->rows + (uint64_t)index->slots * 4;
	uint64_t row_bytes = (uint64_t)index->columns * 4;
	if (c.bad || (version != 2 && version != 5) || index->columns > 16)
		return false;
	index->sizes = index->offsets + row_bytes + row_bytes * index->units;
	return index->sizes + row_bytes * index->units <= index->bytes.size && index->slots &&
	       !(index->slots & (index->slots - 1));
}

// The row of a unit, from 1; 0 if it is not there. Open addressing with a second hash.
static uint64_t find_row(const struct index *index, uint64_t dwo_id)
{
	uint64_t mask = index->slots - 1;
	uint64_t slot = dwo_id & mask, step = (dwo_id >> 32 & mask) | 1;

	for (uint32_t tries = 0; tries < index->slots; tries++, slot = (slot + step) & mask) {
		uint64_t row = number_at(index->bytes, index->rows + slot * 4, 4);
		if (!row)
			return 0;
		if (number_at(index->bytes, index->hashes + slot * 8, 8) == dwo_id)
			return row <= index->units ? row : 0;
	}
	return 0;
}

static void cut(struct bytes *section, uint64_t offset, uint64_t size)
{
	*section = bytes_slice(*section, offset, size);
}

bool dwp_index_find(struct elf_file *package, uint64_t dwo_id, struct dwarf_sections *sections)
{
	struct index index;
	uint64_t row;

	if (!open_index(package, &index) || !(row = find_row(&index, dwo_id)))
		return false;
	*sections = dwarf_sections_of(package, ".dwo");
	for (uint32_t i = 0; i < index.columns; i++) {
		uint64_t column = number_at(index.bytes, index.offsets + (uint64_t)i * 4, 4);
		uint64_t cell = (row * index.columns + i) * 4;
		uint64_t offset = number_at(index.bytes, index.offsets + cell, 4);
		uint64_t size =
			number_at(index.bytes, index.sizes + cell - (uint64_t)index.columns * 4, 4);
		if (column == COLUMN_INFO)
			cut(&sections->info, offset, size);
		else if (column == COLUMN_ABBREV)
			cut(&sections->abbrev, offset, size);
		else if (column == COLUMN_LINE)
			cut(&sections->line, offset, size);
		else if (column == COLUMN_STR_OFFSETS)
			cut(&sections->str_offsets, offset, size);
		else if (column == COLUMN_RNGLISTS && index.is_5)
			cut(&sections->rnglists, offset, size);
	}
	return true;
}
