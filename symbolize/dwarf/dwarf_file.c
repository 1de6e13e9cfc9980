// SPDX-License-Identifier: MIT
#include "symbolize/dwarf/dwarf_file.h"

#include "base/array.h"
#include "base/error.h"
#include "symbolize/dwarf/dwarf_abbrev.h"
#include "symbolize/elf/elf_file.h"

#include <dwarf.h>
#include <errno.h>

#define FUEL_PER_BYTE 64
#define FUEL_MINIMUM  ((uint64_t)1 << 20)

struct dwarf_file {
	struct dwarf_sections sections;
	struct dwarf_file *alt;
	struct unit *units;
	size_t unit_count, unit_capacity;
	struct abbrev_tables abbrevs;
	uint64_t fuel;
};

struct dwarf_sections dwarf_sections_of(struct elf_file *elf, const char *suffix)
{
	static const struct {
		const char *name;
		size_t at;
	} wanted[] = {
		{ "info", offsetof(struct dwarf_sections, info) },
		{ "abbrev", offsetof(struct dwarf_sections, abbrev) },
		{ "str", offsetof(struct dwarf_sections, str) },
		{ "str_offsets", offsetof(struct dwarf_sections, str_offsets) },
		{ "line", offsetof(struct dwarf_sections, line) },
		{ "line_str", offsetof(struct dwarf_sections, line_str) },
		{ "addr", offsetof(struct dwarf_sections, addr) },
		{ "ranges", offsetof(struct dwarf_sections, ranges) },
		{ "rnglists", offsetof(struct dwarf_sections, rnglists) },
		{ "aranges", offsetof(struct dwarf_sections, aranges) },
	};
	struct dwarf_sections sections;

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		char name[64];
		snprintf(name, sizeof(name), ".debug_%s%s", wanted[i].name, suffix);
		struct bytes bytes = elf_file_named_contents(elf, name);
		memcpy((char *)&sections + wanted[i].at, &bytes, sizeof(bytes));
	}
	return sections;
}

// The header of the unit at C, which moves to the next one. False at the end or at damage.
static bool read_unit_header(struct dwarf_file *file, struct cursor *c, struct unit *unit)
{
	*unit = (struct unit){ .file = file, .offset_bytes = 4 };
	unit->offset = (uint64_t)(c->at - file->sections.info.data);
	uint64_t length = cursor_u32(c);
	if (length == UINT32_MAX) {
		length = cursor_u64(c);
		unit->offset_bytes = 8;
	}
	struct cursor body = *c;
	cursor_skip(c, length);
	if (c->bad || length == 0)
		return false;
	body.end = c->at;
	unit->end = (uint64_t)(c->at - file->sections.info.data);
	unit->version = cursor_u16(&body);
	if (unit->version >= 5) {
		unit->type = cursor_u8(&body);
		unit->address_bytes = cursor_u8(&body);
	}
	unit->abbrev_offset = cursor_number(&body, unit->offset_bytes);
	if (unit->version < 5)
		unit->address_bytes = cursor_u8(&body);
	if (unit->type == DW_UT_skeleton || unit->type == DW_UT_split_compile)
		unit->dwo_id = cursor_u64(&body);
	if (unit->type == DW_UT_type || unit->type == DW_UT_split_type)
		cursor_skip(&body, 8 + unit->offset_bytes);
	unit->root = (uint64_t)(body.at - file->sections.info.data);
	return true;
}

static bool is_readable(const struct unit *unit)
{
	return unit->version >= 2 && unit->version <= 5 && unit->root < unit->end &&
	       (unit->address_bytes == 4 || unit->address_bytes == 8);
}

static int read_units(struct dwarf_file *file, struct error *err)
{
	struct cursor c = cursor_at(file->sections.info, 0);
	struct unit unit;

	while (cursor_left(&c) && read_unit_header(file, &c, &unit)) {
		if (!is_readable(&unit))
			continue;
		if (!array_reserve(&file->units, &file->unit_capacity, file->unit_count + 1))
			return error_set(err, ENOMEM, "could not list the compilation units");
		file->units[file->unit_count++] = unit;
	}
	return 0;
}

struct dwarf_file *dwarf_file_new(const struct dwarf_sections *sections, struct error *err)
{
	cleanup(dwarf_file) struct dwarf_file *file = calloc(1, sizeof(*file));

	if (!file) {
		error_set(err, ENOMEM, "could not read the debug information");
		return NULL;
	}
	if (!abbrev_tables_init(&file->abbrevs)) {
		error_set(err, ENOMEM, "could not read the debug information");
		return NULL;
	}
	file->sections = *sections;
	file->fuel = FUEL_MINIMUM +
	             FUEL_PER_BYTE * ((uint64_t)sections->info.size + sections->line.size +
	                              sections->ranges.size + sections->rnglists.size);
	if (read_units(file, err) < 0)
		return NULL;
	return steal(file);
}

void dwarf_file_free(struct dwarf_file *file)
{
	if (!file)
		return;
	abbrev_tables_fini(&file->abbrevs);
	free(file->units);
	free(file);
}

void dwarf_file_set_alt(struct dwarf_file *file, struct dwarf_file *alt)
{
	file->alt = alt;
}

struct dwarf_file *dwarf_file_alt(const struct dwarf_file *file)
{
	return file->alt;
}

const struct dwarf_sections *dwarf_file_sections(const struct dwarf_file *file)
{
	return &file->sections;
}

struct abbrev_tables *dwarf_file_abbrevs(struct dwarf_file *file)
{
	return &file->abbrevs;
}

size_t dwarf_file_unit_count(const struct dwarf_file *file)
{
	return file->unit_count;
}

struct unit *dwarf_file_unit(struct dwarf_file *file, size_t index)
{
	return index < file->unit_count ? &file->units[index] : NULL;
}

struct unit *dwarf_file_unit_at(struct dwarf_file *file, uint64_t offset)
{
	size_t count = array_search(file->unit_count, i, file->units[i].offset <= offset);

	struct unit *unit = count ? &file->units[count - 1] : NULL;
	return unit && offset < unit->end ? unit : NULL;
}

bool dwarf_file_burn(struct dwarf_file *file, uint64_t work)
{
	file->fuel -= work < file->fuel ? work : file->fuel;
	return file->fuel > 0;
}

bool dwarf_file_is_burnt(const struct dwarf_file *file)
{
	return file->fuel == 0;
}

struct cursor unit_cursor(const struct unit *unit, uint64_t offset)
{
	struct bytes info = bytes_slice(unit->file->sections.info, 0, unit->end);

	if (offset < unit->root)
		return (struct cursor){ .bad = true };
	return cursor_at(info, offset);
}

uint64_t unit_offset_of(const struct unit *unit, const struct cursor *c)
{
	return (uint64_t)(c->at - unit->file->sections.info.data);
}

const struct abbrev *unit_next(const struct unit *unit, struct cursor *c)
{
	uint64_t code = cursor_uleb(c);

	if (!code)
		return NULL;
	const struct abbrev *abbrev = abbrev_table_find(unit->abbrevs, code);
	if (!abbrev || !dwarf_file_burn(unit->file, 1))
		cursor_fail(c);
	return c->bad ? NULL : abbrev;
}

static void read_value(const struct unit *unit, const struct abbrev_attribute *attribute,
                       struct cursor *c, struct value *value)
{
	unsigned int form = attribute->form;

	// An indirect form may not name another indirect one: that could go on without end.
	if (form == DW_FORM_indirect) {
		form = (unsigned int)cursor_uleb(c);
		if (form == DW_FORM_indirect || form == DW_FORM_implicit_const) {
			cursor_fail(c);
			return;
		}
	}
	value->form = (uint16_t)form;
	value->text = c->at;
	int bytes = form_bytes(form, unit->version, unit->address_bytes, unit->offset_bytes);
	if (form == DW_FORM_implicit_const)
		value->number = (uint64_t)attribute->implicit;
	else if (form == DW_FORM_flag_present)
		value->number = 1;
	else if (form == DW_FORM_udata || form == DW_FORM_ref_udata || form == DW_FORM_strx ||
	         form == DW_FORM_addrx || form == DW_FORM_rnglistx || form == DW_FORM_loclistx ||
	         form == DW_FORM_GNU_addr_index || form == DW_FORM_GNU_str_index)
		value->number = cursor_uleb(c);
	else if (form == DW_FORM_sdata)
		value->number = (uint64_t)cursor_sleb(c);
	else if (bytes >= 0 && bytes <= 8)
		value->number = cursor_number(c, (unsigned int)bytes);
	else
		form_skip(form, unit->version, unit->address_bytes, unit->offset_bytes, c);
}

void unit_skip(const struct unit *unit, const struct abbrev *abbrev, struct cursor *c)
{
	if (abbrev->fixed_bytes >= 0) {
		cursor_skip(c, (uint64_t)abbrev->fixed_bytes);
		return;
	}
	for (uint32_t i = 0; i < abbrev->attribute_count && !c->bad; i++)
		form_skip(abbrev->attributes[i].form, unit->version, unit->address_bytes,
		          unit->offset_bytes, c);
}

void unit_read(const struct unit *unit, const struct abbrev *abbrev, struct cursor *c,
               struct entry *entry)
{
	memset(entry->values, 0, sizeof(entry->values));
	entry->abbrev = abbrev;
	for (uint32_t i = 0; i < abbrev->attribute_count && !c->bad; i++) {
		const struct abbrev_attribute *attribute = &abbrev->attributes[i];
		if (attribute->slot == SLOT_NONE)
			form_skip(attribute->form, unit->version, unit->address_bytes,
			          unit->offset_bytes, c);
		else
			read_value(unit, attribute, c, &entry->values[attribute->slot]);
	}
}

// Of an entry whose attributes have been skipped.
static void skip_children(const struct unit *unit, struct cursor *c)
{
	for (uint64_t depth = 1; depth && !c->bad;) {
		const struct abbrev *abbrev = unit_next(unit, c);
		if (!abbrev) {
			depth--;
			continue;
		}
		unit_skip(unit, abbrev, c);
		depth += abbrev->has_children;
	}
}

uint64_t unit_local_reference(const struct unit *unit, const struct value *value)
{
	switch (value->form) {
	case DW_FORM_ref1:
	case DW_FORM_ref2:
	case DW_FORM_ref4:
	case DW_FORM_ref8:
	case DW_FORM_ref_udata:
		return value->number < unit->end - unit->offset ? unit->offset + value->number : 0;
	default:
		return 0;
	}
}

void unit_skip_tree(const struct unit *unit, const struct abbrev *abbrev, struct cursor *c)
{
	if (!abbrev->has_children || !abbrev->has_sibling) {
		unit_skip(unit, abbrev, c);
		if (abbrev->has_children)
			skip_children(unit, c);
		return;
	}
	struct value sibling = { 0 };
	for (uint32_t i = 0; i < abbrev->attribute_count && !c->bad && !sibling.form; i++) {
		const struct abbrev_attribute *attribute = &abbrev->attributes[i];
		if (attribute->slot == SLOT_SIBLING)
			read_value(unit, attribute, c, &sibling);
		else
			form_skip(attribute->form, unit->version, unit->address_bytes,
			          unit->offset_bytes, c);
	}
	uint64_t next = unit_local_reference(unit, &sibling);
	// Only ever forward: a sibling behind us would make a loop.
	if (next <= unit_offset_of(unit, c))
		cursor_fail(c);
	else
		*c = unit_cursor(unit, next);
}
