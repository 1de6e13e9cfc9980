/* SPDX-License-Identifier: MIT */
/*
 * What the entries of .debug_info look like: abbreviation tables and forms.
 *
 * A table is read once and lives as long as the tables; it owns its attributes. Offsets and codes
 * are foreign and may be anything (DWARF 5, 7.5.3). One thread at a time.
 */
#pragma once

#include "base/hash.h"
#include "symbolize/dwarf/dwarf_file.h"

struct abbrev_tables {
	struct abbrev_table **items;
	size_t count, capacity;
	struct hash index;
	size_t attributes; /* of all tables; an honest file has no more than bytes */
};

/* False if there is no memory. */
bool abbrev_tables_init(struct abbrev_tables *tables);
void abbrev_tables_fini(struct abbrev_tables *tables);

/* The table at OFFSET of SECTION, for units of UNIT's layout. NULL if it is damaged. */
struct abbrev_table *abbrev_tables_get(struct abbrev_tables *tables, struct bytes section,
                                       uint64_t offset, const struct unit *unit);

/* NULL if the code is not there. */
const struct abbrev *abbrev_table_find(const struct abbrev_table *table, uint64_t code);

/* The size of a value of FORM; -1 if it varies or is unknown. */
int form_bytes(unsigned int form, unsigned int version, unsigned int address_bytes,
               unsigned int offset_bytes);

/* Steps over a value; the cursor goes bad if FORM is unknown. */
void form_skip(unsigned int form, unsigned int version, unsigned int address_bytes,
               unsigned int offset_bytes, struct cursor *c);
