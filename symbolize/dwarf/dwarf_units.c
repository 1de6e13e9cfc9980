// SPDX-License-Identifier: MIT
#include "symbolize/dwarf/dwarf_units.h"

#include "base/array.h"
#include "base/error.h"
#include "base/stop.h"
#include "symbolize/dwarf/unit_values.h"

#include <errno.h>

struct covered {
	uint64_t start, end;
	uint64_t highest_end; // of this one and all before it
	struct unit *unit;
};

struct dwarf_units {
	struct covered *items;
	size_t count, capacity;
	uint64_t lowest_code;
};

static bool cover(struct dwarf_units *units, struct unit *unit, uint64_t start, uint64_t end)
{
	if (start < units->lowest_code || start >= end)
		return true;
	if (!array_reserve(&units->items, &units->capacity, units->count + 1))
		return false;
	units->items[units->count++] = (struct covered){ start, end, 0, unit };
	return true;
}

// One set of .debug_aranges: the ranges of one unit.
static bool read_set(struct dwarf_units *units, struct dwarf_file *file, struct cursor *c,
                     bool *listed)
{
	unsigned int offset_bytes = 4;
	const uint8_t *start = c->at;
	uint64_t length = cursor_u32(c);

	if (length == UINT32_MAX) {
		length = cursor_u64(c);
		offset_bytes = 8;
	}
	struct cursor body = *c;
	cursor_skip(c, length);
	if (c->bad)
		return true;
	body.end = c->at;
	cursor_skip(&body, 2); // version
	struct unit *unit = dwarf_file_unit_at(file, cursor_number(&body, offset_bytes));
	unsigned int size = cursor_u8(&body);
	unsigned int segment = cursor_u8(&body);
	if (!unit || segment || (size != 4 && size != 8))
		return true;
	size_t pair = (size_t)2 * size;
	cursor_skip(&body, (pair - (size_t)(body.at - start) % pair) % pair);
	while (cursor_left(&body) >= pair) {
		uint64_t address = cursor_number(&body, size);
		uint64_t bytes = cursor_number(&body, size);
		if (bytes)
			listed[unit - dwarf_file_unit(file, 0)] = true;
		if (!cover(units, unit, address, address + bytes))
			return false;
	}
	return true;
}

static bool cover_by_root(struct dwarf_units *units, struct unit *unit, struct range_list *list)
{
	struct entry root;

	if (!unit_prepare(unit) || !unit->has_ranges || !unit_read(unit, unit->root, &root))
		return true;
	unit_ranges(unit, &root, list);
	for (size_t i = 0; i < list->count; i++)
		if (!cover(units, unit, list->items[i].start, list->items[i].end))
			return false;
	return true;
}

static bool read_all(struct dwarf_units *units, struct dwarf_file *file)
{
	size_t count = dwarf_file_unit_count(file);
	cleanup_free bool *listed = calloc(count ? count : 1, sizeof(*listed));
	struct cursor c = cursor_at(dwarf_file_sections(file)->aranges, 0);
	struct range_list list = { 0 };
	bool good = listed != NULL;

	while (good && !c.bad && cursor_left(&c) && !stop_is_wanted())
		good = read_set(units, file, &c, listed);
	for (size_t i = 0; good && i < count && !stop_is_wanted(); i++)
		if (!listed[i])
			good = cover_by_root(units, dwarf_file_unit(file, i), &list);
	free(list.items);
	return good;
}

static int by_start(const void *a, const void *b)
{
	const struct covered *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

struct dwarf_units *dwarf_units_new(struct dwarf_file *file, uint64_t lowest_code,
                                    struct error *err)
{
	cleanup(dwarf_units) struct dwarf_units *units = calloc(1, sizeof(*units));

	if (units)
		units->lowest_code = lowest_code;
	if (!units || !read_all(units, file)) {
		error_set(err, ENOMEM, "could not read which compilation units cover what");
		return NULL;
	}
	if (units->count)
		qsort(units->items, units->count, sizeof(*units->items), by_start);
	uint64_t highest = 0;
	for (size_t i = 0; i < units->count; i++) {
		if (units->items[i].end > highest)
			highest = units->items[i].end;
		units->items[i].highest_end = highest;
	}
	return steal(units);
}

void dwarf_units_free(struct dwarf_units *units)
{
	if (!units)
		return;
	free(units->items);
	free(units);
}

struct unit *dwarf_units_find(const struct dwarf_units *units, uint64_t address)
{
	size_t count = array_search(units->count, i, units->items[i].start <= address);

	// Ranges seldom overlap; where they do, the one that starts last is the closest.
	for (int tries = 0; count > 0 && tries < 64; count--, tries++) {
		const struct covered *item = &units->items[count - 1];
		if (address < item->end)
			return item->unit;
		if (address >= item->highest_end)
			return NULL;
	}
	return NULL;
}
