/* SPDX-License-Identifier: MIT */
/*
 * The DWARF of one file: its units and their entries (DIEs), versions 2 to 5.
 *
 * Our own reader rather than libdw's because the file may be damaged or made
 * to harm, and because most of the work is to step over entries, which this
 * does without a lock, a hash or an allocation per entry. It reads what a
 * symbolizer needs and nothing else.
 *
 * Whoever works through a file that lies (a list that every entry refers to)
 * could be kept busy for ever; so all loops burn fuel, of which there is much
 * more than an honest file needs.
 *
 * Units, entries and texts point into the file's sections and live as long as they do. One thread
 * at a time.
 */
#pragma once

#include "base/bytes.h"
#include "base/cleanup.h"

struct error;
struct dwarf_file;
struct elf_file;

struct dwarf_sections {
	struct bytes info, abbrev, str, str_offsets, line, line_str, addr, ranges, rnglists,
		aranges;
};

/* The attributes that we read, by slot. */
enum slot {
	SLOT_NONE,
	SLOT_SIBLING,
	SLOT_LOW_PC,
	SLOT_HIGH_PC,
	SLOT_RANGES,
	SLOT_NAME,
	SLOT_LINKAGE_NAME,
	SLOT_ORIGIN, /* DW_AT_abstract_origin or DW_AT_specification */
	SLOT_DECL_FILE,
	SLOT_CALL_FILE,
	SLOT_CALL_LINE,
	SLOT_STMT_LIST,
	SLOT_COMP_DIR,
	SLOT_LANGUAGE,
	SLOT_PRODUCER,
	SLOT_STR_OFFSETS_BASE,
	SLOT_ADDR_BASE,
	SLOT_RNGLISTS_BASE,
	SLOT_GNU_RANGES_BASE,
	SLOT_DWO_NAME,
	SLOT_DWO_ID,
	SLOT_COUNT
};

struct value {
	uint64_t number;     /* constant, offset, index or address, as FORM says */
	const uint8_t *text; /* DW_FORM_string only */
	uint16_t form;       /* 0: the attribute is not there */
};

struct abbrev_attribute {
	uint16_t form;
	uint8_t slot;
	int64_t implicit; /* DW_FORM_implicit_const */
};

struct abbrev {
	uint64_t code;
	const struct abbrev_attribute *attributes;
	uint32_t attribute_count;
	int32_t fixed_bytes; /* size of all attributes; -1 if it varies */
	uint16_t tag;
	bool has_children;
	bool has_sibling;
	bool has_code; /* a low_pc or ranges */
};

struct abbrev_table;
struct abbrev_tables;

struct unit {
	struct dwarf_file *file;
	uint64_t offset; /* of the unit in .debug_info */
	uint64_t end;    /* of the unit in .debug_info */
	uint64_t root;   /* offset of the first entry */
	uint64_t abbrev_offset;
	uint16_t version;
	uint8_t type; /* DW_UT_*, 0 before DWARF 5 */
	uint8_t address_bytes;
	uint8_t offset_bytes;
	bool prepared; /* the fields below are filled */
	struct abbrev_table *abbrevs;
	bool has_ranges; /* low_pc or ranges in the root entry */
	bool has_lines;
	struct value low_pc_value, high_pc_value, ranges_value;
	uint64_t low_pc; /* base of range lists */
	uint64_t line_offset;
	uint64_t str_offsets_base, addr_base, rnglists_base;
	uint64_t ranges_base;       /* split units: added to offsets in .debug_ranges */
	uint64_t split_ranges_base; /* skeletons: what their split unit adds, not they themselves */
	uint64_t dwo_id;            /* of a skeleton or split unit */
	uint64_t language;          /* DW_LANG_*, 0 if unknown */
	bool unoptimized;           /* its compiler says so */
	const char *name, *comp_dir, *dwo_name; /* NULL if not there */
};

struct entry {
	uint64_t offset;
	const struct abbrev *abbrev;
	struct value values[SLOT_COUNT];
};

/* The sections of ELF; SUFFIX is "" or ".dwo". */
struct dwarf_sections dwarf_sections_of(struct elf_file *elf, const char *suffix);

/* The bytes of SECTIONS must outlive the file. NULL if there is no memory. */
struct dwarf_file *dwarf_file_new(const struct dwarf_sections *sections, struct error *err);
void dwarf_file_free(struct dwarf_file *file);

CLEANUP(dwarf_file, struct dwarf_file *, dwarf_file_free)

/* Where DW_FORM_GNU_ref_alt and its like lead; ALT must outlive FILE. May be NULL. */
void dwarf_file_set_alt(struct dwarf_file *file, struct dwarf_file *alt);

struct dwarf_file *dwarf_file_alt(const struct dwarf_file *file); /* NULL if it has none */

const struct dwarf_sections *dwarf_file_sections(const struct dwarf_file *file);
struct abbrev_tables *dwarf_file_abbrevs(struct dwarf_file *file); /* the file's own */
size_t dwarf_file_unit_count(const struct dwarf_file *file);
struct unit *dwarf_file_unit(struct dwarf_file *file, size_t index);

/* The unit that holds OFFSET of .debug_info; NULL if none does. */
struct unit *dwarf_file_unit_at(struct dwarf_file *file, uint64_t offset);

/* False, and for good, once the file has cost more work than an honest one could. */
bool dwarf_file_burn(struct dwarf_file *file, uint64_t work);
bool dwarf_file_is_burnt(const struct dwarf_file *file);

/* A cursor over the unit's entries from OFFSET (of .debug_info) on. */
struct cursor unit_cursor(const struct unit *unit, uint64_t offset);
uint64_t unit_offset_of(const struct unit *unit, const struct cursor *c);

/* The abbreviation of the entry at C, which steps over its code; NULL for the end of siblings. */
const struct abbrev *unit_next(const struct unit *unit, struct cursor *c);

/* Steps over the attributes of an entry, or reads those that have a slot. */
void unit_skip(const struct unit *unit, const struct abbrev *abbrev, struct cursor *c);
void unit_read(const struct unit *unit, const struct abbrev *abbrev, struct cursor *c,
               struct entry *entry);

/* Steps over an entry's attributes and children, by its sibling attribute where it has one. */
void unit_skip_tree(const struct unit *unit, const struct abbrev *abbrev, struct cursor *c);

/* Where VALUE, a reference within UNIT, leads in .debug_info; 0 if it is none. */
uint64_t unit_local_reference(const struct unit *unit, const struct value *value);
