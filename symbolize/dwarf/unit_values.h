/* SPDX-License-Identifier: MIT */
/*
 * What the values of entries say: texts, numbers, ranges of addresses, names of functions; and what
 * the root entry says of its whole unit, which the others cannot be understood without.
 *
 * Texts are borrowed from the sections. A range list is the caller's, who frees its items and may
 * use it again. All loops burn the file's fuel. One thread at a time for each file.
 */
#pragma once

#include "symbolize/dwarf/dwarf_file.h"

struct range {
	uint64_t start, end; /* end is the first address that does not belong */
};

struct range_list {
	struct range *items;
	size_t count, capacity;
};

/*
 * Gives a split unit, which is not prepared yet, what only its skeleton knows.
 */
void unit_set_skeleton(struct unit *split, const struct unit *skeleton);

/* Reads the root entry. False if the unit is damaged. */
bool unit_prepare(struct unit *unit);

/* The value as a number. False if it is not there, or none. */
bool unit_number(const Dwarf_Attribute *value, uint64_t *number);

/* What the entry covers. False if it has no code, or the list is damaged (then LIST is empty). */
bool unit_ranges(const struct unit *unit, const struct entry *entry, struct range_list *list);

struct function_name {
	const char *text; /* the linkage name, else the plain one; NULL if it has none */
	bool is_linkage;
	struct unit *decl_unit; /* whose line table knows DECL_FILE; NULL if unknown */
	uint64_t decl_file;     /* where the function is declared */
};

/* What ENTRY is called, from wherever its origins hold that. */
struct function_name unit_function_name(struct unit *unit, const struct entry *entry);
