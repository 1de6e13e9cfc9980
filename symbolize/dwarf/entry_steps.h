/* SPDX-License-Identifier: MIT */
/*
 * Stepping over the entries of a unit, most of which no address is in.
 *
 * libdw can do that, too, and takes three to four times as long (80 ns an entry), which would make
 * a whole report of an optimized C++ program 1.5 (GCC) to 2.3 (Clang) times as slow. So the forms
 * of its abbreviations are kept here, for as long as a walk over the unit lasts; they are foreign
 * and may be anything (DWARF 5, 7.5.3). All steps burn the file's fuel. One thread at a time.
 */
#pragma once

#include "symbolize/dwarf/dwarf_file.h"

struct entry_steps;

struct abbrev {
	uint64_t code;
	const uint16_t *forms; /* of each attribute */
	uint32_t attribute_count;
	int32_t fixed_bytes; /* size of all attributes; -1 if it varies */
	int32_t sibling;     /* number of the DW_AT_sibling; -1: none */
	int32_t location;    /* the same of the DW_AT_location */
	uint16_t tag;
	bool has_children;
	bool has_code; /* a low_pc or ranges */
};

/* UNIT must outlive the steps. NULL if its abbreviations are damaged, or no memory. */
struct entry_steps *entry_steps_new(const struct unit *unit);
void entry_steps_free(struct entry_steps *s);

CLEANUP(entry_steps, struct entry_steps *, entry_steps_free)

/* A cursor over the unit's entries from OFFSET (of .debug_info) on. */
struct cursor entry_steps_cursor(const struct entry_steps *s, uint64_t offset);
uint64_t entry_steps_offset(const struct entry_steps *s, const struct cursor *c);

/* The abbreviation of the entry at C, which steps over its code; NULL for the end of siblings. */
const struct abbrev *entry_steps_next(const struct entry_steps *s, struct cursor *c);

/* Steps over the attributes of an entry. */
void entry_steps_skip(const struct entry_steps *s, const struct abbrev *abbrev, struct cursor *c);

/* The same; the expression that is the entry's location, of no bytes where that is none, as a list
   of several. */
struct bytes entry_steps_location(const struct entry_steps *s, const struct abbrev *abbrev,
                                  struct cursor *c);

/* Steps over an entry's attributes and children, by its sibling attribute where it has one. */
void entry_steps_skip_tree(const struct entry_steps *s, const struct abbrev *abbrev,
                           struct cursor *c);
