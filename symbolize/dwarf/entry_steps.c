// SPDX-License-Identifier: MIT
#include "symbolize/dwarf/entry_steps.h"

#include "base/array.h"

#include <dwarf.h>

struct entry_steps {
	const struct unit *unit;
	struct abbrev *abbrevs;
	size_t count, capacity;
	uint16_t *forms; // of all abbreviations
	size_t form_count, form_capacity;
	bool dense; // code N is at N - 1
};

// The size of a value of FORM; -1 if it varies or is unknown.
static int form_bytes(const struct unit *unit, unsigned int form)
{
	switch (form) {
	case DW_FORM_flag_present:
	case DW_FORM_implicit_const:
		return 0;
	case DW_FORM_data1:
	case DW_FORM_ref1:
	case DW_FORM_flag:
	case DW_FORM_strx1:
	case DW_FORM_addrx1:
		return 1;
	case DW_FORM_data2:
	case DW_FORM_ref2:
	case DW_FORM_strx2:
	case DW_FORM_addrx2:
		return 2;
	case DW_FORM_strx3:
	case DW_FORM_addrx3:
		return 3;
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_ref_sup4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4:
		return 4;
	case DW_FORM_data8:
	case DW_FORM_ref8:
	case DW_FORM_ref_sig8:
	case DW_FORM_ref_sup8:
		return 8;
	case DW_FORM_data16:
		return 16;
	case DW_FORM_addr:
		return unit->address_bytes;
	case DW_FORM_ref_addr:
		return unit->version <= 2 ? unit->address_bytes : unit->offset_bytes;
	case DW_FORM_strp:
	case DW_FORM_line_strp:
	case DW_FORM_strp_sup:
	case DW_FORM_sec_offset:
	case DW_FORM_GNU_strp_alt:
	case DW_FORM_GNU_ref_alt:
		return unit->offset_bytes;
	default:
		return -1;
	}
}

static void skip_value(const struct unit *unit, unsigned int form, struct cursor *c)
{
	int bytes = form_bytes(unit, form);

	if (bytes >= 0) {
		cursor_skip(c, (uint64_t)bytes);
		return;
	}
	switch (form) {
	case DW_FORM_udata:
	case DW_FORM_sdata:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
		cursor_skip_leb(c);
		break;
	case DW_FORM_string:
		cursor_string(c);
		break;
	case DW_FORM_block:
	case DW_FORM_exprloc:
		cursor_skip(c, cursor_uleb(c));
		break;
	case DW_FORM_block1:
		cursor_skip(c, cursor_u8(c));
		break;
	case DW_FORM_block2:
		cursor_skip(c, cursor_u16(c));
		break;
	case DW_FORM_block4:
		cursor_skip(c, cursor_u32(c));
		break;
	case DW_FORM_indirect:
		form = (unsigned int)cursor_uleb(c);
		if (form != DW_FORM_indirect && form != DW_FORM_implicit_const)
			skip_value(unit, form, c);
		else
			cursor_fail(c);
		break;
	default:
		cursor_fail(c);
	}
}

static bool read_attribute(struct entry_steps *s, struct cursor *c, struct abbrev *abbrev,
                           bool *last)
{
	uint64_t name = cursor_uleb(c);
	uint64_t form = cursor_uleb(c);

	if (form == DW_FORM_implicit_const)
		cursor_skip_leb(c);
	*last = !name && !form;
	if (c->bad || *last)
		return !c->bad;
	if (form > UINT16_MAX || !array_reserve(&s->forms, &s->form_capacity, s->form_count + 1))
		return false;
	s->forms[s->form_count++] = (uint16_t)form;
	if (name == DW_AT_sibling)
		abbrev->sibling = (int32_t)abbrev->attribute_count;
	if (name == DW_AT_location)
		abbrev->location = (int32_t)abbrev->attribute_count;
	abbrev->attribute_count++;
	abbrev->has_code |= name == DW_AT_low_pc || name == DW_AT_ranges;
	int bytes = form_bytes(s->unit, (unsigned int)form);
	if (bytes < 0 || abbrev->fixed_bytes < 0 || abbrev->fixed_bytes > INT16_MAX)
		abbrev->fixed_bytes = -1;
	else
		abbrev->fixed_bytes += bytes;
	return true;
}

static bool read_abbrev(struct entry_steps *s, struct cursor *c, uint64_t code)
{
	struct abbrev abbrev = {
		.code = code, .sibling = -1, .location = -1, .tag = (uint16_t)cursor_uleb(c)
	};

	abbrev.has_children = cursor_u8(c) != 0;
	for (bool last = false; !last;)
		if (!read_attribute(s, c, &abbrev, &last))
			return false;
	if (!array_reserve(&s->abbrevs, &s->capacity, s->count + 1))
		return false;
	s->dense &= code == s->count + 1;
	s->abbrevs[s->count++] = abbrev;
	return true;
}

static int by_code(const void *a, const void *b)
{
	const struct abbrev *x = a, *y = b;

	return x->code < y->code ? -1 : x->code > y->code;
}

static bool read_abbrevs(struct entry_steps *s)
{
	struct cursor c =
		cursor_at(dwarf_file_sections(s->unit->file)->abbrev, s->unit->abbrev_offset);

	for (uint64_t code; (code = cursor_uleb(&c));)
		if (!read_abbrev(s, &c, code))
			return false;
	// Only now do the forms stay where they are.
	size_t at = 0;
	for (size_t i = 0; i < s->count; i++) {
		if (s->abbrevs[i].attribute_count)
			s->abbrevs[i].forms = s->forms + at;
		at += s->abbrevs[i].attribute_count;
	}
	if (!s->dense && s->count)
		qsort(s->abbrevs, s->count, sizeof(*s->abbrevs), by_code);
	return !c.bad;
}

struct entry_steps *entry_steps_new(const struct unit *unit)
{
	cleanup(entry_steps) struct entry_steps *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->unit = unit;
	s->dense = true;
	bool good = read_abbrevs(s);
	// Many units may share a long table.
	good = dwarf_file_burn(unit->file, s->form_count) && good;
	return good ? steal(s) : NULL;
}

void entry_steps_free(struct entry_steps *s)
{
	if (!s)
		return;
	free(s->abbrevs);
	free(s->forms);
	free(s);
}

static const struct abbrev *find_abbrev(const struct entry_steps *s, uint64_t code)
{
	if (s->dense)
		return code - 1 < s->count ? &s->abbrevs[code - 1] : NULL;
	struct abbrev key = { .code = code };
	return bsearch(&key, s->abbrevs, s->count, sizeof(key), by_code);
}

struct cursor entry_steps_cursor(const struct entry_steps *s, uint64_t offset)
{
	struct bytes info = dwarf_file_sections(s->unit->file)->info;

	if (offset < s->unit->root)
		return (struct cursor){ .bad = true };
	return cursor_at(bytes_slice(info, 0, s->unit->end), offset);
}

uint64_t entry_steps_offset(const struct entry_steps *s, const struct cursor *c)
{
	return (uint64_t)(c->at - dwarf_file_sections(s->unit->file)->info.data);
}

const struct abbrev *entry_steps_next(const struct entry_steps *s, struct cursor *c)
{
	uint64_t code = cursor_uleb(c);

	if (!code)
		return NULL;
	const struct abbrev *abbrev = find_abbrev(s, code);
	if (!abbrev || !dwarf_file_burn(s->unit->file, 1))
		cursor_fail(c);
	return c->bad ? NULL : abbrev;
}

static void skip_values(const struct entry_steps *s, const struct abbrev *abbrev, uint32_t count,
                        struct cursor *c)
{
	for (uint32_t i = 0; i < count && !c->bad; i++)
		skip_value(s->unit, abbrev->forms[i], c);
}

void entry_steps_skip(const struct entry_steps *s, const struct abbrev *abbrev, struct cursor *c)
{
	if (abbrev->fixed_bytes >= 0)
		cursor_skip(c, (uint64_t)abbrev->fixed_bytes);
	else
		skip_values(s, abbrev, abbrev->attribute_count, c);
}

static bool is_block(unsigned int form)
{
	return form == DW_FORM_exprloc || form == DW_FORM_block || form == DW_FORM_block1 ||
	       form == DW_FORM_block2 || form == DW_FORM_block4;
}

// The bytes of a block of FORM at C, which steps over them.
static struct bytes read_block(unsigned int form, struct cursor *c)
{
	uint64_t size = form == DW_FORM_block1   ? cursor_u8(c)
	                : form == DW_FORM_block2 ? cursor_u16(c)
	                : form == DW_FORM_block4 ? cursor_u32(c)
	                                         : cursor_uleb(c);
	const uint8_t *data = c->at;

	cursor_skip(c, size);
	return c->bad ? (struct bytes){ 0 } : (struct bytes){ data, size };
}

struct bytes entry_steps_location(const struct entry_steps *s, const struct abbrev *abbrev,
                                  struct cursor *c)
{
	struct bytes expression = { 0 };

	for (uint32_t i = 0; i < abbrev->attribute_count && !c->bad; i++) {
		unsigned int form = abbrev->forms[i];
		if ((int32_t)i == abbrev->location && is_block(form))
			expression = read_block(form, c);
		else
			skip_value(s->unit, form, c);
	}
	return expression;
}

// Of an entry whose attributes have been skipped.
static void skip_children(const struct entry_steps *s, struct cursor *c)
{
	for (uint64_t depth = 1; depth && !c->bad;) {
		const struct abbrev *abbrev = entry_steps_next(s, c);
		if (!abbrev) {
			depth--;
			continue;
		}
		entry_steps_skip(s, abbrev, c);
		depth += abbrev->has_children;
	}
}

// Where the value at C, a reference within UNIT of FORM, leads in .debug_info; 0 if it is none.
static uint64_t read_reference(const struct unit *unit, unsigned int form, struct cursor *c)
{
	uint64_t number;

	switch (form) {
	case DW_FORM_ref1:
	case DW_FORM_ref2:
	case DW_FORM_ref4:
	case DW_FORM_ref8:
		number = cursor_number(c, (unsigned int)form_bytes(unit, form));
		break;
	case DW_FORM_ref_udata:
		number = cursor_uleb(c);
		break;
	default:
		return 0;
	}
	return number < unit->end - unit->offset ? unit->offset + number : 0;
}

void entry_steps_skip_tree(const struct entry_steps *s, const struct abbrev *abbrev,
                           struct cursor *c)
{
	if (!abbrev->has_children || abbrev->sibling < 0) {
		entry_steps_skip(s, abbrev, c);
		if (abbrev->has_children)
			skip_children(s, c);
		return;
	}
	skip_values(s, abbrev, (uint32_t)abbrev->sibling, c);
	uint64_t next = read_reference(s->unit, abbrev->forms[abbrev->sibling], c);
	// Only ever forward: a sibling behind us would make a loop.
	if (next <= entry_steps_offset(s, c))
		cursor_fail(c);
	else
		*c = entry_steps_cursor(s, next);
}
