/* SPDX-License-Identifier: MIT */
/*
 * Which function an address of a unit is in, and through which inlined calls.
 *
 * One walk over the unit's entries for all addresses at once. It goes down only
 * into functions that hold one of them.
 *
 * Texts point into the file's sections. One thread at a time for each file.
 */
#pragma once

#include "symbolize/dwarf/dwarf_file.h"
#include "symbolize/dwarf/unit_values.h"

/* A function, or an inlined call of one. */
struct scope {
	uint32_t outer; /* number of the scope that it is inlined into; 0: it is a function */
	struct function_name name; /* mangled */
	const char *declared;      /* file; NULL if unknown, or not looked up */
	bool is_looked_up;
	uint64_t call_file, call_line;
	uint64_t start; /* where a function is entered; 0: inlined, or unknown */
};

/* A piece of code of the function whose entry is at OFFSET. */
struct function_range {
	uint64_t start, end;
	uint64_t offset;
};

struct function_index {
	struct function_range *items; /* in order of their entries */
	size_t count, capacity;
	bool complete;
};

/* Where the functions of a unit are: filled by the first walk, it spares the next ones. */
struct inline_index {
	struct function_index usual, all; /* see inlines_find() */
};

void inline_index_fini(struct inline_index *index);

struct inlines {
	struct scope *scopes; /* number N is at N - 1 */
	size_t count, capacity;
	struct range_list ranges;   /* scratch */
	uint64_t lowest_code;       /* functions that start below it were discarded */
	struct inline_index *index; /* of the unit; NULL: none. Borrowed */
};

void inlines_fini(struct inlines *in);

/*
 * Writes the number of the innermost scope of each of ADDRESSES (ascending, of
 * UNIT) to SCOPES, 0 where none was found. False if there is no memory. It looks where
 * functions usually are, and if some address is in none of those everywhere.
 */
bool inlines_find(struct inlines *in, struct unit *unit, const uint64_t *addresses, size_t count,
                  uint32_t *scopes);
