// SPDX-License-Identifier: MIT
#include "symbolize/dwarf/unit_values.h"

#include "base/array.h"
#include "symbolize/dwarf/optimization.h"

#include <dwarf.h>
#include <string.h>

#define ORIGINS_MAX 16 /* hops from a concrete function to the entry that has its name */

bool unit_number(const Dwarf_Attribute *value, uint64_t *number)
{
	Dwarf_Attribute copy = *value;
	Dwarf_Word word;

	if (!value->code || dwarf_formudata(&copy, &word) != 0)
		return false;
	*number = word;
	return true;
}

// NULL if it is none.
static const char *text_of(const Dwarf_Attribute *value)
{
	Dwarf_Attribute copy = *value;

	return value->code ? dwarf_formstring(&copy) : NULL;
}

static bool value_address(const Dwarf_Attribute *value, uint64_t *address)
{
	Dwarf_Attribute copy = *value;

	return value->code && dwarf_formaddr(&copy, address) == 0;
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

// Where in .debug_rnglists the list of number VALUE is, which has one form that libdw reads only
// where it knows a split unit's skeleton.
static bool indexed_list(const struct unit *unit, const Dwarf_Attribute *value, uint64_t *offset)
{
	struct bytes lists = dwarf_file_sections(unit->file)->rnglists;
	struct cursor c = cursor_of(value->valp, unit->end - unit->root);
	uint64_t index = cursor_uleb(&c);

	if (index > lists.size || unit->rnglists_base > lists.size)
		return false;
	c = cursor_at(lists, unit->rnglists_base + index * unit->offset_bytes);
	*offset = unit->rnglists_base + cursor_number(&c, unit->offset_bytes);
	return !c.bad;
}

// What libdw takes for the base of a split unit's lists is not: that is its skeleton's.
static void read_ranges(const struct unit *unit, const struct entry *entry, struct range_list *list)
{
	const Dwarf_Attribute *value = &entry->values[SLOT_RANGES];
	Dwarf_Die die = entry->die;
	Dwarf_Addr base = unit->low_pc, start, end;
	uint64_t offset;
	ptrdiff_t at;

	if (value->form == DW_FORM_rnglistx ? !indexed_list(unit, value, &offset)
	                                    : !unit_number(value, &offset))
		return;
	offset += unit->version < 5 ? unit->ranges_base : 0;
	if (offset > PTRDIFF_MAX)
		return;
	// An offset of 0 means the beginning of whatever list DIE has.
	at = dwarf_ranges(&die, (ptrdiff_t)offset, &base, &start, &end);
	if (!offset && unit->is_split && !base) {
		base = unit->low_pc;
		start += base;
		end += base;
	}
	for (; at > 0 && add_range(unit, list, start, end);)
		at = dwarf_ranges(&die, at, &base, &start, &end);
}

bool unit_ranges(const struct unit *unit, const struct entry *entry, struct range_list *list)
{
	const Dwarf_Attribute *high = &entry->values[SLOT_HIGH_PC];
	uint64_t start, end;

	list->count = 0;
	if (entry->values[SLOT_RANGES].code) {
		read_ranges(unit, entry, list);
	} else if (high->code && value_address(&entry->values[SLOT_LOW_PC], &start)) {
		if (!value_address(high, &end)) {
			// A constant is a size.
			end = 0;
			unit_number(high, &end);
			end += start;
		}
		add_range(unit, list, start, end);
	}
	return list->count > 0;
}

// The unit and offset that VALUE refers to; NULL if it refers to nothing that is there.
static struct unit *resolve_reference(struct unit *unit, const Dwarf_Attribute *value,
                                      uint64_t *offset)
{
	struct dwarf_file *file = unit->file;
	unsigned int bytes = unit->offset_bytes;
	Dwarf_Attribute copy = *value;
	Dwarf_Die die;

	switch (value->code ? value->form : 0) {
	case DW_FORM_ref1:
	case DW_FORM_ref2:
	case DW_FORM_ref4:
	case DW_FORM_ref8:
	case DW_FORM_ref_udata:
		if (!dwarf_formref_die(&copy, &die))
			return NULL;
		*offset = dwarf_dieoffset(&die);
		return unit;
	case DW_FORM_ref_sup4:
	case DW_FORM_ref_sup8:
		bytes = value->form == DW_FORM_ref_sup4 ? 4 : 8;
		file = dwarf_file_alt(file);
		break;
	case DW_FORM_GNU_ref_alt:
		file = dwarf_file_alt(file);
		break;
	case DW_FORM_ref_addr:
		bytes = unit->version <= 2 ? unit->address_bytes : bytes;
		break;
	default:
		return NULL;
	}
	// Not libdw: it would look at units that we may have refused.
	*offset = 0;
	memcpy(offset, value->valp, bytes);
	return file && *offset ? dwarf_file_unit_at(file, *offset) : NULL;
}

static bool read_entry_at(struct unit *unit, uint64_t offset, struct entry *entry)
{
	return unit_prepare(unit) && offset >= unit->root && unit_read(unit, offset, entry);
}

struct function_name unit_function_name(struct unit *unit, const struct entry *entry)
{
	struct function_name name = { 0 };
	struct entry origin;

	for (int hop = 0; hop < ORIGINS_MAX; hop++) {
		const char *linkage = text_of(&entry->values[SLOT_LINKAGE_NAME]);
		name.is_linkage = linkage != NULL;
		if (linkage || !name.text)
			name.text = linkage ? linkage : text_of(&entry->values[SLOT_NAME]);
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

static bool root_number(struct unit *unit, unsigned int name, uint64_t *number)
{
	Dwarf_Attribute value;

	return dwarf_attr(&unit->die, name, &value) && unit_number(&value, number);
}

static const char *root_text(struct unit *unit, unsigned int name)
{
	Dwarf_Attribute value;

	return dwarf_formstring(dwarf_attr(&unit->die, name, &value));
}

static void take_split(struct unit *unit)
{
	if (!root_number(unit, DW_AT_addr_base, &unit->addr_base))
		root_number(unit, DW_AT_GNU_addr_base, &unit->addr_base);
	root_number(unit, DW_AT_GNU_ranges_base, &unit->split_ranges_base);
	// In a .dwo there is no attribute for it: its one table begins behind its header.
	if (!root_number(unit, DW_AT_rnglists_base, &unit->rnglists_base) && unit->is_split)
		unit->rnglists_base = unit->offset_bytes == 8 ? 20 : 12;
	unit->dwo_name = root_text(unit, DW_AT_dwo_name);
	if (!unit->dwo_name)
		unit->dwo_name = root_text(unit, DW_AT_GNU_dwo_name);
}

static void take_root(struct unit *unit)
{
	Dwarf_Addr low_pc;

	take_split(unit);
	if (!unit->is_split && dwarf_lowpc(&unit->die, &low_pc) == 0)
		unit->low_pc = low_pc;
	unit->has_lines = root_number(unit, DW_AT_stmt_list, &unit->line_offset);
	root_number(unit, DW_AT_language, &unit->language);
	unit->unoptimized = optimization_is_off(unit, root_text(unit, DW_AT_producer));
	unit->name = root_text(unit, DW_AT_name);
	unit->comp_dir = root_text(unit, DW_AT_comp_dir);
}

void unit_set_skeleton(struct unit *split, const struct unit *skeleton)
{
	split->is_split = true;
	split->low_pc = skeleton->low_pc;
	split->ranges_base = skeleton->split_ranges_base;
}

bool unit_prepare(struct unit *unit)
{
	struct entry root;

	if (unit->prepared || !unit->is_good)
		return unit->is_good;
	unit->prepared = true;
	unit->is_good = false;
	if (dwarf_cu_info(unit->die.cu, NULL, NULL, NULL, NULL, &unit->dwo_id, NULL, NULL) != 0 ||
	    !unit_read(unit, unit->root, &root))
		return false;
	unit->is_good = true;
	unit->has_ranges = root.values[SLOT_RANGES].code ||
	                   (root.values[SLOT_LOW_PC].code && root.values[SLOT_HIGH_PC].code);
	take_root(unit);
	return true;
}
