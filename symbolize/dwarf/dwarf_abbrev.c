// SPDX-License-Identifier: MIT
#include "symbolize/dwarf/dwarf_abbrev.h"

#include "base/array.h"

#include <dwarf.h>

struct abbrev_table {
	uint64_t offset;
	uint8_t address_bytes, offset_bytes;
	bool version_2; // where DW_FORM_ref_addr has the size of an address
	bool dense;     // code N is at N - 1
	struct abbrev *abbrevs;
	size_t count, capacity;
	struct abbrev_attribute *attributes;
	size_t attribute_count, attribute_capacity;
};

static enum slot slot_of(uint64_t attribute)
{
	switch (attribute) {
	case DW_AT_sibling:
		return SLOT_SIBLING;
	case DW_AT_low_pc:
		return SLOT_LOW_PC;
	case DW_AT_high_pc:
		return SLOT_HIGH_PC;
	case DW_AT_ranges:
		return SLOT_RANGES;
	case DW_AT_name:
		return SLOT_NAME;
	case DW_AT_linkage_name:
	case DW_AT_MIPS_linkage_name:
		return SLOT_LINKAGE_NAME;
	case DW_AT_abstract_origin:
	case DW_AT_specification:
		return SLOT_ORIGIN;
	case DW_AT_decl_file:
		return SLOT_DECL_FILE;
	case DW_AT_call_file:
		return SLOT_CALL_FILE;
	case DW_AT_call_line:
		return SLOT_CALL_LINE;
	case DW_AT_stmt_list:
		return SLOT_STMT_LIST;
	case DW_AT_comp_dir:
		return SLOT_COMP_DIR;
	case DW_AT_language:
		return SLOT_LANGUAGE;
	case DW_AT_producer:
		return SLOT_PRODUCER;
	case DW_AT_str_offsets_base:
		return SLOT_STR_OFFSETS_BASE;
	case DW_AT_addr_base:
	case DW_AT_GNU_addr_base:
		return SLOT_ADDR_BASE;
	case DW_AT_rnglists_base:
		return SLOT_RNGLISTS_BASE;
	case DW_AT_GNU_ranges_base:
		return SLOT_GNU_RANGES_BASE;
	case DW_AT_dwo_name:
	case DW_AT_GNU_dwo_name:
		return SLOT_DWO_NAME;
	case DW_AT_GNU_dwo_id:
		return SLOT_DWO_ID;
	default:
		return SLOT_NONE;
	}
}

int form_bytes(unsigned int form, unsigned int version, unsigned int address_bytes,
               unsigned int offset_bytes)
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
		return (int)address_bytes;
	case DW_FORM_ref_addr:
		return (int)(version <= 2 ? address_bytes : offset_bytes);
	case DW_FORM_strp:
	case DW_FORM_line_strp:
	case DW_FORM_strp_sup:
	case DW_FORM_sec_offset:
	case DW_FORM_GNU_strp_alt:
	case DW_FORM_GNU_ref_alt:
		return (int)offset_bytes;
	default:
		return -1;
	}
}

void form_skip(unsigned int form, unsigned int version, unsigned int address_bytes,
               unsigned int offset_bytes, struct cursor *c)
{
	int bytes = form_bytes(form, version, address_bytes, offset_bytes);

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
			form_skip(form, version, address_bytes, offset_bytes, c);
		else
			cursor_fail(c);
		break;
	default:
		cursor_fail(c);
	}
}

static bool read_attribute(struct abbrev_table *table, struct cursor *c, struct abbrev *abbrev,
                           bool *last)
{
	uint64_t name = cursor_uleb(c);
	uint64_t form = cursor_uleb(c);
	int64_t implicit = form == DW_FORM_implicit_const ? cursor_sleb(c) : 0;

	*last = !name && !form;
	if (c->bad || *last)
		return !c->bad;
	if (form > UINT16_MAX || !array_reserve(&table->attributes, &table->attribute_capacity,
	                                        table->attribute_count + 1))
		return false;
	enum slot slot = slot_of(name);
	table->attributes[table->attribute_count++] =
		(struct abbrev_attribute){ (uint16_t)form, (uint8_t)slot, implicit };
	abbrev->attribute_count++;
	abbrev->has_sibling |= slot == SLOT_SIBLING;
	abbrev->has_code |= slot == SLOT_LOW_PC || slot == SLOT_RANGES;
	int bytes = form_bytes((unsigned int)form, table->version_2 ? 2 : 5, table->address_bytes,
	                       table->offset_bytes);
	if (bytes < 0 || abbrev->fixed_bytes < 0 || abbrev->fixed_bytes > INT16_MAX)
		abbrev->fixed_bytes = -1;
	else
		abbrev->fixed_bytes += bytes;
	return true;
}

static bool read_abbrev(struct abbrev_table *table, struct cursor *c, uint64_t code)
{
	struct abbrev abbrev = { .code = code, .tag = (uint16_t)cursor_uleb(c) };

	abbrev.has_children = cursor_u8(c) != 0;
	for (bool last = false; !last;)
		if (!read_attribute(table, c, &abbrev, &last))
			return false;
	if (!array_reserve(&table->abbrevs, &table->capacity, table->count + 1))
		return false;
	table->dense &= code == table->count + 1;
	table->abbrevs[table->count++] = abbrev;
	return true;
}

static int by_code(const void *a, const void *b)
{
	const struct abbrev *x = a, *y = b;

	return x->code < y->code ? -1 : x->code > y->code;
}

static bool read_table(struct abbrev_table *table, struct bytes section)
{
	struct cursor c = cursor_at(section, table->offset);

	for (uint64_t code; (code = cursor_uleb(&c));)
		if (!read_abbrev(table, &c, code))
			return false;
	// Only now do the attributes stay where they are.
	size_t at = 0;
	for (size_t i = 0; i < table->count; i++) {
		if (table->abbrevs[i].attribute_count)
			table->abbrevs[i].attributes = table->attributes + at;
		at += table->abbrevs[i].attribute_count;
	}
	if (!table->dense && table->count)
		qsort(table->abbrevs, table->count, sizeof(*table->abbrevs), by_code);
	return !c.bad;
}

static void abbrev_table_free(struct abbrev_table *table)
{
	if (!table)
		return;
	free(table->abbrevs);
	free(table->attributes);
	free(table);
}

CLEANUP(abbrev_table, struct abbrev_table *, abbrev_table_free)

bool abbrev_tables_init(struct abbrev_tables *tables)
{
	*tables = (struct abbrev_tables){ 0 };
	return hash_init(&tables->index, 64);
}

void abbrev_tables_fini(struct abbrev_tables *tables)
{
	for (size_t i = 0; i < tables->count; i++)
		abbrev_table_free(tables->items[i]);
	free(tables->items);
	hash_fini(&tables->index);
	*tables = (struct abbrev_tables){ 0 };
}

static bool is_same_layout(const struct abbrev_table *a, const struct abbrev_table *b)
{
	return a->offset == b->offset && a->address_bytes == b->address_bytes &&
	       a->offset_bytes == b->offset_bytes && a->version_2 == b->version_2;
}

static struct abbrev_table *add_table(struct abbrev_tables *tables, struct bytes section,
                                      const struct abbrev_table *wanted, uint32_t at)
{
	// Tables that overlap could be made to fill all memory, by a file of a few kilobytes.
	if (tables->attributes > section.size)
		return NULL;
	cleanup(abbrev_table) struct abbrev_table *table = malloc(sizeof(*table));
	if (!table)
		return NULL;
	*table = *wanted;
	bool good = read_table(table, section);
	tables->attributes += table->attribute_count;
	if (!good || !array_reserve(&tables->items, &tables->capacity, tables->count + 1))
		return NULL;
	tables->items[tables->count++] = table;
	hash_insert(&tables->index, at, hash_mix(table->offset), (uint32_t)tables->count);
	return steal(table);
}

struct abbrev_table *abbrev_tables_get(struct abbrev_tables *tables, struct bytes section,
                                       uint64_t offset, const struct unit *unit)
{
	struct hash *index = &tables->index;
	struct abbrev_table wanted = { .offset = offset,
		                       .address_bytes = unit->address_bytes,
		                       .offset_bytes = unit->offset_bytes,
		                       .version_2 = unit->version <= 2,
		                       .dense = true };

	if (!hash_make_room(index))
		return NULL;
	uint32_t at = hash_start(index, hash_mix(offset));
	for (; index->slots[at]; at = hash_next(index, at))
		if (is_same_layout(tables->items[index->slots[at] - 1], &wanted))
			return tables->items[index->slots[at] - 1];
	return add_table(tables, section, &wanted, at);
}

const struct abbrev *abbrev_table_find(const struct abbrev_table *table, uint64_t code)
{
	if (table->dense)
		return code - 1 < table->count ? &table->abbrevs[code - 1] : NULL;
	struct abbrev key = { .code = code };
	return bsearch(&key, table->abbrevs, table->count, sizeof(key), by_code);
}
