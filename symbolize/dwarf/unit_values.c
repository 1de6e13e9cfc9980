// SPDX-License-Identifier: MIT
#include "symbolize/dwarf/unit_values.h"

#include "base/array.h"
#include "symbolize/dwarf/dwarf_abbrev.h"

#include <dwarf.h>
#include <string.h>

#define ORIGINS_MAX 16 /* hops from a concrete function to the entry that has its name */

// Entry INDEX of a table of numbers of SIZE bytes that starts at BASE.
static bool table_number(struct bytes table, uint64_t base, uint64_t index, unsigned int size,
                         uint64_t *number)
{
	if (index > table.size || base > table.size)
		return false;
	struct cursor c = cursor_at(table, base + index * size);
	*number = cursor_number(&c, size);
	return !c.bad;
}

// NULL if it is none.
static const char *text_of(const struct unit *unit, const struct value *value)
{
	const struct dwarf_sections *sections = dwarf_file_sections(unit->file);
	const struct dwarf_file *alt = dwarf_file_alt(unit->file);
	uint64_t offset;

	switch (value->form) {
	case DW_FORM_string:
		return (const char *)value->text; // its NUL was found when it was read
	case DW_FORM_strp:
		return bytes_string(sections->str, value->number);
	case DW_FORM_line_strp:
		return bytes_string(sections->line_str, value->number);
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_strp_alt:
		return alt ? bytes_string(dwarf_file_sections(alt)->str, value->number) : NULL;
	case DW_FORM_strx:
	case DW_FORM_strx1:
	case DW_FORM_strx2:
	case DW_FORM_strx3:
	case DW_FORM_strx4:
	case DW_FORM_GNU_str_index:
		if (!table_number(sections->str_offsets, unit->str_offsets_base, value->number,
		                  unit->offset_bytes, &offset))
			return NULL;
		return bytes_string(sections->str, offset);
	default:
		return NULL;
	}
}

bool unit_number(const struct value *value, uint64_t *number)
{
	if (!value->form)
		return false;
	*number = value->number;
	return true;
}

static bool indexed_address(const struct unit *unit, uint64_t index, uint64_t *address)
{
	return table_number(dwarf_file_sections(unit->file)->addr, unit->addr_base, index,
	                    unit->address_bytes, address);
}

static bool value_address(const struct unit *unit, const struct value *value, uint64_t *address)
{
	switch (value->form) {
	case DW_FORM_addr:
		*address = value->number;
		return true;
	case DW_FORM_addrx:
	case DW_FORM_addrx1:
	case DW_FORM_addrx2:
	case DW_FORM_addrx3:
	case DW_FORM_addrx4:
	case DW_FORM_GNU_addr_index:
		return indexed_address(unit, value->number, address);
	default:
		return false;
	}
}

// Adds [START, END) unless it is empty. False if the list should be read no further.
static bool add_range(const struct unit *unit, struct range_list *list, uint64_t start,
                      uint64_t end)
{
	if (!dwarf_file_burn(unit->file, 1))
		return false;
	if (start >= end)
		return true;
	if (!array_reserve(&list->items, &list->capacity, list->count + 1))
		return false;
	list->items[list->count++] = (struct range){ start, end };
	return true;
}

// DWARF 2 to 4: pairs of addresses, relative to a base that an entry of all ones sets.
static void read_ranges(const struct unit *unit, uint64_t offset, struct range_list *list)
{
	struct cursor c = cursor_at(dwarf_file_sections(unit->file)->ranges, offset);
	uint64_t base = unit->low_pc;
	uint64_t ones = unit->address_bytes == 8 ? UINT64_MAX : UINT32_MAX;

	while (!c.bad) {
		uint64_t start = cursor_number(&c, unit->address_bytes);
		uint64_t end = cursor_number(&c, unit->address_bytes);
		if (c.bad || (!start && !end))
			return;
		if (start == ones)
			base = end;
		else if (!add_range(unit, list, base + start, base + end))
			return;
	}
}

// DWARF 5: a small program. Each step is one entry of the list.
static bool read_rnglist_entry(const struct unit *unit, struct cursor *c, uint64_t *base,
                               struct range_list *list)
{
	unsigned int size = unit->address_bytes;
	uint64_t start = 0, end = 0;
	bool good = true;

	switch (cursor_u8(c)) {
	case DW_RLE_base_addressx:
		return indexed_address(unit, cursor_uleb(c), base);
	case DW_RLE_base_address:
		*base = cursor_number(c, size);
		return true;
	case DW_RLE_startx_endx:
		good = indexed_address(unit, cursor_uleb(c), &start);
		good &= indexed_address(unit, cursor_uleb(c), &end);
		break;
	case DW_RLE_startx_length:
		good = indexed_address(unit, cursor_uleb(c), &start);
		end = start + cursor_uleb(c);
		break;
	case DW_RLE_offset_pair:
		start = *base + cursor_uleb(c);
		end = *base + cursor_uleb(c);
		break;
	case DW_RLE_start_end:
		start = cursor_number(c, size);
		end = cursor_number(c, size);
		break;
	case DW_RLE_start_length:
		start = cursor_number(c, size);
		end = start + cursor_uleb(c);
		break;
	default: // DW_RLE_end_of_list, and what we do not know
		return false;
	}
	return good && !c->bad && add_range(unit, list, start, end);
}

static void read_rnglist(const struct unit *unit, const struct value *value,
                         struct range_list *list)
{
	struct bytes lists = dwarf_file_sections(unit->file)->rnglists;
	uint64_t offset = value->number;
	uint64_t base = unit->low_pc;

	if (value->form == DW_FORM_rnglistx) {
		if (!table_number(lists, unit->rnglists_base, value->number, unit->offset_bytes,
		                  &offset))
			return;
		offset += unit->rnglists_base;
	}
	struct cursor c = cursor_at(lists, offset);
	while (!c.bad && read_rnglist_entry(unit, &c, &base, list))
		;
}

bool unit_ranges(const struct unit *unit, const struct value *low, const struct value *high,
                 const struct value *ranges, struct range_list *list)
{
	uint64_t start, end;

	list->count = 0;
	if (ranges->form) {
		if (unit->version >= 5)
			read_rnglist(unit, ranges, list);
		else
			read_ranges(unit, ranges->number + unit->ranges_base, list);
	} else if (value_address(unit, low, &start) && high->form) {
		if (!value_address(unit, high, &end))
			end = start + high->number; // a constant is a size
		add_range(unit, list, start, end);
	}
	return list->count > 0;
}

// The unit and offset that VALUE refers to; NULL if it refers to nothing that is there.
static struct unit *resolve_reference(const struct unit *unit, const struct value *value,
                                      uint64_t *offset)
{
	struct dwarf_file *file = unit->file;

	switch (value->form) {
	case 0:
		return NULL;
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_ref_sup4:
	case DW_FORM_ref_sup8:
		file = dwarf_file_alt(file);
		*offset = value->number;
		break;
	case DW_FORM_ref_addr:
		*offset = value->number;
		break;
	default:
		*offset = unit_local_reference(unit, value);
	}
	return file && *offset ? dwarf_file_unit_at(file, *offset) : NULL;
}

static bool read_entry_at(struct unit *unit, uint64_t offset, struct entry *entry)
{
	struct cursor c = unit_cursor(unit, offset);

	if (!unit_prepare(unit))
		return false;
	const struct abbrev *abbrev = unit_next(unit, &c);
	if (!abbrev)
		return false;
	entry->offset = offset;
	unit_read(unit, abbrev, &c, entry);
	return !c.bad;
}

struct function_name unit_function_name(struct unit *unit, const struct entry *entry)
{
	struct function_name name = { 0 };
	struct entry origin;

	for (int hop = 0; hop < ORIGINS_MAX; hop++) {
		const char *linkage = text_of(unit, &entry->values[SLOT_LINKAGE_NAME]);
		name.is_linkage = linkage != NULL;
		if (linkage || !name.text)
			name.text = linkage ? linkage : text_of(unit, &entry->values[SLOT_NAME]);
		if (!name.decl_unit && unit_number(&entry->values[SLOT_DECL_FILE], &name.decl_file))
			name.decl_unit = unit;
		uint64_t offset;
		struct unit *next = resolve_reference(unit, &entry->values[SLOT_ORIGIN], &offset);
		if (linkage || !next || !read_entry_at(next, offset, &origin))
			break;
		unit = next;
		entry = &origin;
	}
	return name;
}

static void take_bases(struct unit *unit, const struct entry *root)
{
	unit_number(&root->values[SLOT_ADDR_BASE], &unit->addr_base);
	unit_number(&root->values[SLOT_GNU_RANGES_BASE], &unit->split_ranges_base);
	// In a .dwo there are no base attributes: its one table begins behind its header.
	bool split = unit->type == DW_UT_split_compile;
	uint64_t header = unit->offset_bytes == 8 ? 16 : 8;
	if (!unit_number(&root->values[SLOT_STR_OFFSETS_BASE], &unit->str_offsets_base) && split)
		unit->str_offsets_base = header;
	if (!unit_number(&root->values[SLOT_RNGLISTS_BASE], &unit->rnglists_base) && split)
		unit->rnglists_base = header + 4;
	if (!unit->dwo_id)
		unit_number(&root->values[SLOT_DWO_ID], &unit->dwo_id);
}

// The last -O counts. GCC tells its options, and so -g, which this would not be here without, but
// not what it does by itself: no -O is -O0. Clang tells them only on request, then with -O0.
bool producer_is_unoptimized(const char *producer)
{
	bool told = false, optimized = false;

	if (!producer || strncmp(producer, "GNU AS", 6) == 0)
		return false;
	bool gnu = strncmp(producer, "GNU ", 4) == 0 && strstr(producer, " -g");
	for (const char *at = producer; (at = strstr(at, " -O")); at += 3) {
		told = true;
		optimized = at[3] != '0';
	}
	return told ? !optimized : gnu;
}

static void take_root(struct unit *unit, const struct entry *root)
{
	take_bases(unit, root); // first: names and addresses may be indexed
	unit->low_pc_value = root->values[SLOT_LOW_PC];
	unit->high_pc_value = root->values[SLOT_HIGH_PC];
	unit->ranges_value = root->values[SLOT_RANGES];
	unit->has_ranges =
		unit->ranges_value.form || (unit->low_pc_value.form && unit->high_pc_value.form);
	value_address(unit, &unit->low_pc_value, &unit->low_pc);
	unit->has_lines = unit_number(&root->values[SLOT_STMT_LIST], &unit->line_offset);
	unit_number(&root->values[SLOT_LANGUAGE], &unit->language);
	unit->unoptimized = producer_is_unoptimized(text_of(unit, &root->values[SLOT_PRODUCER]));
	unit->name = text_of(unit, &root->values[SLOT_NAME]);
	unit->comp_dir = text_of(unit, &root->values[SLOT_COMP_DIR]);
	unit->dwo_name = text_of(unit, &root->values[SLOT_DWO_NAME]);
}

void unit_set_skeleton(struct unit *split, const struct unit *skeleton)
{
	split->addr_base = skeleton->addr_base;
	split->low_pc = skeleton->low_pc;
	split->ranges_base = skeleton->split_ranges_base;
}

bool unit_prepare(struct unit *unit)
{
	if (unit->prepared)
		return unit->abbrevs != NULL;
	unit->prepared = true;
	unit->abbrevs = abbrev_tables_get(dwarf_file_abbrevs(unit->file),
	                                  dwarf_file_sections(unit->file)->abbrev,
	                                  unit->abbrev_offset, unit);
	struct cursor c = unit_cursor(unit, unit->root);
	const struct abbrev *abbrev = unit->abbrevs ? unit_next(unit, &c) : NULL;
	struct entry root;
	if (abbrev)
		unit_read(unit, abbrev, &c, &root);
	if (!abbrev || c.bad)
		unit->abbrevs = NULL;
	else
		take_root(unit, &root);
	return unit->abbrevs != NULL;
}
