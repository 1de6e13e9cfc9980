/* SPDX-License-Identifier: MIT */
/*
 * The DWARF of one file: its units and their entries (DIEs), versions 2 to 5.
 *
 * libdw reads them. It sees the sections that it is given, opens no file by itself, and is kept
 * from what makes it loop or take all memory. Units of other versions are left out.
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

#include <elfutils/libdw.h>
#include <setjmp.h>

struct error;
struct dwarf_file;
struct elf_file;

struct dwarf_sections {
	struct bytes info, abbrev, str, str_offsets, line, line_str, addr, ranges, rnglists,
		aranges;
};

/* The attributes of functions that we read, by slot. */
enum slot {
	SLOT_LOW_PC,
	SLOT_HIGH_PC,
	SLOT_RANGES,
	SLOT_NAME,
	SLOT_LINKAGE_NAME,
	SLOT_ORIGIN, /* DW_AT_abstract_origin or DW_AT_specification */
	SLOT_DECL_FILE,
	SLOT_CALL_FILE,
	SLOT_CALL_LINE,
	SLOT_COUNT
};

struct unit {
	struct dwarf_file *file;
	uint64_t offset; /* of the unit in .debug_info */
	uint64_t end;    /* of the unit in .debug_info */
	uint64_t root;   /* offset of the first entry */
	uint64_t abbrev_offset;
	uint16_t version;
	uint8_t address_bytes;
	uint8_t offset_bytes;
	bool is_kept;    /* libdw has its abbreviations */
	bool is_good;    /* it can be read */
	bool prepared;   /* the fields below DIE are filled, if IS_GOOD */
	Dwarf_Die die;   /* the root entry */
	uint64_t low_pc; /* base of range lists */
	bool has_ranges; /* the root entry says what the unit covers */
	bool has_lines;
	uint64_t line_offset;
	uint64_t addr_base, rnglists_base;
	bool is_split;              /* its entries are of another unit, its skeleton */
	uint64_t ranges_base;       /* split units: added to offsets in .debug_ranges */
	uint64_t split_ranges_base; /* skeletons: what their split unit adds, not they themselves */
	uint64_t dwo_id;            /* of a skeleton or split unit */
	uint64_t language;          /* DW_LANG_*, 0 if unknown */
	bool unoptimized;           /* its compiler says so */
	const char *name, *comp_dir, *dwo_name; /* NULL if not there */
};

struct entry {
	Dwarf_Die die;
	Dwarf_Attribute values[SLOT_COUNT]; /* code 0: not there */
};

/*
 * Where to go when libdw finds no memory, on the thread that calls; the result is where it went
 * before. To be set around all that reads units. What is allocated in between is lost.
 */
jmp_buf *dwarf_file_set_escape(jmp_buf *escape);

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
size_t dwarf_file_unit_count(const struct dwarf_file *file);
struct unit *dwarf_file_unit(struct dwarf_file *file, size_t index);

/* The unit that holds OFFSET of .debug_info; NULL if none does. */
struct unit *dwarf_file_unit_at(struct dwarf_file *file, uint64_t offset);

/* False, and for good, once the file has cost more work than an honest one could. */
bool dwarf_file_burn(struct dwarf_file *file, uint64_t work);
bool dwarf_file_is_burnt(const struct dwarf_file *file);

/* Reads the entry at OFFSET of .debug_info, in UNIT, which is prepared. False if it is damaged. */
bool unit_read(struct unit *unit, uint64_t offset, struct entry *entry);
